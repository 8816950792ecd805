/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payment card numbers: ISO/IEC 7812-1 (numbering, and in annex B the check digit, Luhn's
 * formula), with the issuer ranges and lengths of the networks, as
 * https://en.wikipedia.org/wiki/Payment_card_number collects them. Digits may
 * be apart by one space or hyphen each. No digit stands before or behind. The examples are the
 * networks' test numbers (https://docs.stripe.com/testing).
 */
#include "core/builtin.h"

#define CARD(range, more) "(?<![0-9])" range "(?:[ -]?[0-9]){" more "}(?![0-9])"

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
		.pattern = CARD("4", "15") "|" CARD("4", "18"),
		.check = luhn,
		.good = {"4242424242424242", "4111 1111 1111 1111", "4000-0566-5566-5556"},
		.bad = {"4242424242424241", "42424242424242424", "4242  4242 4242 4242",
			"94242424242424242"},
	},
	{
		.name = "mastercard",
		.pattern = CARD("5[ -]?[1-5]", "14") "|" CARD("2[ -]?[2-7]", "14"),
		.check = luhn,
		.good = {"5555555555554444", "2223 0031 2200 3222", "5105-1051-0510-5100"},
		.bad = {"5555555555554445", "5655555555554443", "555555555555444"},
	},
	{
		.name = "american_express",
		.pattern = CARD("3[ -]?[47]", "13"),
		.check = luhn,
		.good = {"378282246310005", "3714 496353 98431"},
		.bad = {"378282246310006", "37828224631000"},
	},
	{
		.name = "discover",
		.pattern =
			CARD("6[ -]?(?:0[ -]?1[ -]?1|4[ -]?[4-9][ -]?[0-9]|5[ -]?[0-9][ -]?[0-9])",
			     "12"),
		.check = luhn,
		.good = {"6011111111111117", "6011 0009 9013 9424"},
		.bad = {"6011111111111118", "6012111111111116"},
	},
	{
		.name = "diners_club",
		.pattern = CARD("3[ -]?(?:0[ -]?[0-5]|[689][ -]?[0-9])", "11"),
		.check = luhn,
		.good = {"30569309025904", "3622 720627 1667"},
		.bad = {"30569309025905", "30669309025903"},
	},
	{
		.name = "jcb",
		.pattern = CARD("3[ -]?5[ -]?(?:2[ -]?[89]|[3-8][ -]?[0-9])", "12"),
		.check = luhn,
		.good = {"3566002020360505", "3530-1113-3330-0000"},
		.bad = {"3566002020360506", "3527111333300009"},
	},
	{
		.name = "unionpay",
		.pattern = CARD("6[ -]?2", "14,17"),
		.check = luhn,
		.good = {"6200000000000005", "6205500000000000004"},
		.bad = {"6200000000000006", "620000000000000"},
	},
};

const struct builtin_set builtin_payment_cards = {"payment_cards", rules, ARRAY_SIZE(rules)};
