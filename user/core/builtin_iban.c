/* SPDX-License-Identifier: Apache-2.0 */
/*
 * International bank account numbers: ISO 13616-1 (structure, check digits by ISO/IEC 7064
 * MOD 97-10), with each country's length from the IBAN registry
 * (https://www.swift.com/standards/data-standards/iban-international-bank-account-number).
 * In groups of four apart by a space, or none; in either case. No letter or digit stands
 * before or behind. The examples are the registry's.
 */
#include "core/builtin.h"

/* Of `groups` whole groups behind the first, and `rest` runes in a last one. */
#define IBAN(countries, groups, rest) NUMBER(countries, "(?: ?[0-9A-Za-z]{4}){" groups "}" rest)
#define REST(n)			      " ?[0-9A-Za-z]{" n "}"
/*
 * The same of countries whose numbers have digits alone there: those of which the letters are
 * digits of base 16 as well, so that no dump of memory looks like one.
 */
#define IBAN_DIGITS(countries, groups, rest) NUMBER(countries, "(?: ?[0-9]{4}){" groups "}" rest)
#define REST_DIGITS(n)			     " ?[0-9]{" n "}"
#define NUMBER(countries, rest)		     "(?<![0-9A-Za-z])(?:" countries ")[0-9]{2}" rest "(?![0-9A-Za-z])"

static unsigned int value_of(uint8_t byte)
{
	return byte <= '9' ? byte - (unsigned int)'0' : (byte | 0x20u) - 'a' + 10;
}

/* With the first four moved to the end, and letters as numbers from 10, it leaves 1 by 97. */
static bool mod_97(const uint8_t *text, size_t len)
{
	unsigned int rest = 0;

	for (size_t n = 0; n < len; n++) {
		uint8_t byte = text[(n + 4) % len];
		unsigned int value;

		if (byte == ' ')
			continue;
		value = value_of(byte);
		rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
	}
	return rest == 1;
}

static const struct builtin_rule rules[] = {
	{
		.name = "iban_15",
		.pattern = IBAN("[Nn][Oo]", "2", REST("3")),
		.check = mod_97,
		.good = {"NO9386011117947", "NO93 8601 1117 947"},
		.bad = {"NO9386011117948", "NO93860111179471", "NO938601111794"},
	},
	{
		.name = "iban_16",
		.pattern = IBAN_DIGITS("[Bb][Ee]", "3", ""),
		.check = mod_97,
		.good = {"BE68539007547034", "be68 5390 0754 7034"},
		.bad = {"BE68539007547035", "BE6853900754703", "be72 a390 0754 7034"},
	},
	{
		.name = "iban_18",
		.pattern = IBAN("[Dd][Kk]|[Ff][IiKkOo]|[Gg][Ll]|[Nn][Ll]|[Ss][Dd]", "3", REST("2")),
		.check = mod_97,
		.good = {"NL91ABNA0417164300", "DK50 0040 0440 1162 43"},
		.bad = {"NL91ABNA0417164301", "NL91ABNA04171643"},
	},
	{
		.name = "iban_19",
		.pattern = IBAN("[Mm][Kk]|[Ss][Ii]", "3", REST("3")),
		.check = mod_97,
		.good = {"MK07250120000058984", "SI56 2633 0001 2039 086"},
		.bad = {"MK07250120000058985"},
	},
	{
		.name = "iban_20",
		.pattern = IBAN("[Aa][Tt]|[Kk][Zz]|[Ll][TtUu]|[Mm][Nn]|[Xx][Kk]", "4",
				"") "|" IBAN_DIGITS("[Bb][Aa]|[Ee][Ee]", "4", ""),
		.check = mod_97,
		.good = {"AT611904300234573201", "EE38 2200 2210 2014 5685"},
		.bad = {"AT611904300234573202"},
	},
	{
		.name = "iban_21",
		.pattern = IBAN("[Cc][Hh]|[Hh][Rr]|[Ll][IiVv]", "4", REST("1")),
		.check = mod_97,
		.good = {"CH9300762011623852957", "HR12 1001 0051 8630 0016 0"},
		.bad = {"CH9300762011623852958"},
	},
	{
		.name = "iban_22",
		.pattern = IBAN_DIGITS("[Dd][Ee]", "4", REST_DIGITS("2")) "|" IBAN(
			"[Bb][GgHh]|[Cc][Rr]|[Gg][BbEe]|[Ii][Ee]|[Mm][Ee]|[Rr][Ss]|"
			"[Vv][Aa]",
			"4", REST("2")),
		.check = mod_97,
		.good = {"DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19",
			 "(DE89 3704 0044 0532 0130 00)"},
		.bad = {"DE88370400440532013000", "DE89370400440532013000X",
			"xDE89370400440532013000", "DE8937040044053201300"},
	},
	{
		.name = "iban_23",
		.pattern = IBAN_DIGITS("[Aa][Ee]", "4", REST_DIGITS("3")) "|" IBAN(
			"[Gg][Ii]|[Ii][LlQq]|[Oo][Mm]|[Ss][Oo]|[Tt][Ll]", "4", REST("3")),
		.check = mod_97,
		.good = {"AE070331234567890123456", "IL62 0108 0000 0009 9999 999"},
		.bad = {"AE070331234567890123457"},
	},
	{
		.name = "iban_24",
		.pattern = NUMBER("[Aa][Dd]", "(?: ?[0-9]{4}){2}(?: ?[0-9A-Za-z]{4}){3}") "|" IBAN(
			"[Cc][Zz]|[Ee][Ss]|[Mm][Dd]|[Pp][Kk]|[Rr][Oo]|[Ss][AaEeKk]|"
			"[Tt][Nn]|[Vv][Gg]",
			"5", ""),
		.check = mod_97,
		.good = {"ES9121000418450200051332", "SE45 5000 0000 0583 9825 7466"},
		.bad = {"ES9121000418450200051333"},
	},
	{
		.name = "iban_25",
		.pattern = IBAN("[Ll][Yy]|[Pp][Tt]|[Ss][Tt]", "5", REST("1")),
		.check = mod_97,
		.good = {"PT50000201231234567890154", "LY83 0020 4800 0020 1001 2036 1"},
		.bad = {"PT50000201231234567890155"},
	},
	{
		.name = "iban_26",
		.pattern = IBAN("[Ii][Ss]|[Tt][Rr]", "5", REST("2")),
		.check = mod_97,
		.good = {"TR330006100519786457841326", "IS14 0159 2600 7654 5510 7303 39"},
		.bad = {"TR330006100519786457841327"},
	},
	{
		.name = "iban_27",
		.pattern = IBAN("[Bb][Ii]|[Dd][Jj]|[Ff][Rr]|[Gg][Rr]|[Ii][Tt]|[Mm][CcRr]|[Ss][Mm]",
				"5", REST("3")),
		.check = mod_97,
		.good = {"FR1420041010050500013M02606", "IT60 X054 2811 1010 0000 0123 456"},
		.bad = {"FR1420041010050500013M02607"},
	},
	{
		.name = "iban_28",
		.pattern = IBAN("[Aa][LlZz]|[Bb][Yy]|[Cc][Yy]|[Dd][Oo]|[Gg][Tt]|[Hh][Uu]|[Ll][Bb]|"
				"[Nn][Ii]|[Pp][Ll]|[Ss][Vv]",
				"6", ""),
		.check = mod_97,
		.good = {"PL61109010140000071219812874", "CY17 0020 0128 0000 0012 0052 7600"},
		.bad = {"PL61109010140000071219812875"},
	},
	{
		.name = "iban_29",
		.pattern = IBAN("[Bb][Rr]|[Ee][Gg]|[Pp][Ss]|[Qq][Aa]|[Uu][Aa]", "6", REST("1")),
		.check = mod_97,
		.good = {"BR1800360305000010009795493C1", "UA21 3223 1300 0002 6007 2335 6600 1"},
		.bad = {"BR1800360305000010009795493C2"},
	},
	{
		.name = "iban_30",
		.pattern = IBAN("[Jj][Oo]|[Kk][Ww]|[Mm][Uu]|[Yy][Ee]", "6", REST("2")),
		.check = mod_97,
		.good = {"KW81CBKU0000000000001234560101"},
		.bad = {"KW81CBKU0000000000001234560102"},
	},
	{
		.name = "iban_31",
		.pattern = IBAN("[Mm][Tt]|[Ss][Cc]", "6", REST("3")),
		.check = mod_97,
		.good = {"MT84MALT011000012345MTLCAST001S"},
		.bad = {"MT84MALT011000012345MTLCAST001T"},
	},
	{
		.name = "iban_32_33",
		.pattern = IBAN("[Ll][Cc]", "7", "") "|" IBAN("[Rr][Uu]", "7", REST("1")),
		.check = mod_97,
		.good = {"LC55HEMM000100010012001200023015"},
		.bad = {"LC55HEMM000100010012001200023016"},
	},
};

const struct builtin_set builtin_iban = {"iban", rules, ARRAY_SIZE(rules)};
