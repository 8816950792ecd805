/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payment card numbers: ISO/IEC 7812-1 (numbering, and in annex B the check digit, Luhn's
 * formula), with the issuer ranges and lengths of the networks, as
 * https://en.wikipedia.org/wiki/Payment_card_number collects them. The
 * digits are in one row, or in the groups that cards are printed with, apart by one space or hyphen
 * each: of digits apart in any other way, tables of numbers are full. No digit stands before or
 * behind, nor a decimal point behind a digit before. Four groups of four are no card where one more
 * stands before them, which is not a date's year, or behind them, which is not a month and a year,
 * as a card's date may: of such rows tables are full as well, and one in ten passes its check. A
 * start has one match only, whose check decides, so that each length which a shorter one may begin
 * is a rule of its own. The examples are the networks' test numbers
 * (https://docs.stripe.com/testing).
 */
#include "core/builtin.h"

/* Behind the first four digits: so many more in one row, or the groups. */
#define CARD(first, more, groups) \
	"(?<![0-9]|[0-9]\\.)(?:" first ")(?:[0-9]{" more "}|" groups ")(?![0-9])"
#define FOURS(n) "(?:[ -][0-9]{4}){" n "}"
#define REST(n)	 "[ -][0-9]{" n "}"
/* Behind the first four digits, where there are four groups of four and not one more. */
#define MONTH_YEAR "(?:0[1-9]|1[0-2])[2-9][0-9](?![0-9])"
#define FOUR_FOURS                                                                \
	"(?<!(?<![0-9/])[0-9]{4}[ -][0-9]{4})" FOURS("3") "(?![ -](?!" MONTH_YEAR \
							  ")[0-9]{4}(?![0-9]))"

/* From the last digit on every second one is doubled, and the sum of all digits ends with 0. */
static bool luhn(const uint8_t *text, size_t len)
{
	unsigned int sum = 0;
	bool twice = false;

	for (size_t i = len; i-- > 0;) {
		unsigned int digit = text[i] - (unsigned int)'0';

		if (digit > 9)
			continue;
		digit = twice ? digit * 2 : digit;
		sum += digit > 9 ? digit - 9 : digit;
		twice = !twice;
	}
	return sum % 10 == 0;
}

static const struct builtin_rule rules[] = {
	{
		.name = "visa",
		.pattern = CARD("4[0-9]{3}", "12", FOUR_FOURS),
		.check = luhn,
		.good = {"4242424242424242", "4111 1111 1111 1111", "4000-0566-5566-5556",
			 "4242 4242 4242 4242 123"},
		.bad = {"4242424242424241", "42424242424242424", "4242  4242 4242 4242",
			"0.4242424242424242"},
	},
	{
		.name = "visa_19",
		.pattern = CARD("4[0-9]{3}", "15", FOURS("3") REST("3")),
		.check = luhn,
		.good = {"4000000000000000006", "4000 0000 0000 0000 006"},
		.bad = {"4000000000000000007", "4000 0000 0000 0000006",
			"4 28 5 13 15 26 11 13 32"},
	},
	{
		.name = "mastercard",
		.pattern = CARD("5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|"
				"2720",
				"12", FOUR_FOURS),
		.check = luhn,
		.good = {"5555555555554444", "2223 0031 2200 3222", "5105-1051-0510-5100",
			 "2720990000000007"},
		.bad = {"5555555555554445", "5655555555554443", "555555555555444",
			"2721000000000004"},
	},
	{
		.name = "american_express",
		.pattern =
			CARD("3[47][0-9]{2}", "11", REST("6") REST("5") "|" FOURS("2") REST("3")),
		.check = luhn,
		.good = {"378282246310005", "3714 496353 98431", "3714-4963-5398-431"},
		.bad = {"378282246310006", "37828224631000", "37 82 82 24 63 10 00 5"},
	},
	{
		.name = "discover",
		.pattern = CARD("6011|64[4-9][0-9]|65[0-9]{2}", "12", FOUR_FOURS),
		.check = luhn,
		.good = {"6011111111111117", "6011 0009 9013 9424"},
		.bad = {"6011111111111118", "6012111111111116"},
	},
	{
		.name = "diners_club",
		.pattern = CARD("30[0-5][0-9]|3[689][0-9]{2}", "10",
				REST("6") REST("4") "|" FOURS("2") REST("2")),
		.check = luhn,
		.good = {"30569309025904", "3622 720627 1667", "3622-7206-2716-67"},
		.bad = {"30569309025905", "30669309025903"},
	},
	{
		.name = "jcb",
		.pattern = CARD("352[89]|35[3-8][0-9]", "12", FOUR_FOURS),
		.check = luhn,
		.good = {"3566002020360505", "3530-1113-3330-0000"},
		.bad = {"3566002020360506", "3527111333300009"},
	},
	{
		.name = "unionpay",
		.pattern = CARD("62[0-9]{2}", "12", FOUR_FOURS),
		.check = luhn,
		.good = {"6200000000000005", "6200 0000 0000 0005 123"},
		.bad = {"6200000000000006", "620000000000000"},
	},
	{
		.name = "unionpay_19",
		.pattern = CARD("62[0-9]{2}", "13,15", FOURS("3") REST("1,3")),
		.check = luhn,
		.good = {"6205500000000000004", "6205 5000 0000 0000 004"},
		.bad = {"6205500000000000005", "62000000000000000000"},
	},
};

const struct builtin_set builtin_payment_cards = {"payment_cards", rules, ARRAY_SIZE(rules)};
