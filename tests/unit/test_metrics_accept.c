/* SPDX-License-Identifier: Apache-2.0 */
/* Negotiation of the form of metrics (RFC 9110 12.5.1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "daemon/metrics_accept.h"

#define OPENMETRICS "application/openmetrics-text"

static void check(bool openmetrics, const char *const *accepts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (metrics_accept_openmetrics(accepts[i]) != openmetrics)
			fail_msg("'%s' is answered as if it %s OpenMetrics", accepts[i],
				 openmetrics ? "did not ask for" : "asked for");
}

static void text_is_what_nobody_has_to_ask_for(void **state)
{
	static const char *const accepts[] = {
		NULL,
		"",
		" ",
		",",
		"*/*",
		"text/plain",
		"text/*",
		"text/html,*/*;q=0.8",
		"text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		"image/png",
		OPENMETRICS ";q=0",
		"*/*, " OPENMETRICS ";q=0",
		/* Liked the same. */
		OPENMETRICS ", text/plain",
		OPENMETRICS,
		"application/*,text/*",
	};

	(void)state;
	/* All but the one that names OpenMetrics alone. */
	check(false, accepts, 13);
	check(true, &accepts[13], 1);
	check(false, &accepts[14], 1);
}

static void openmetrics_is_given_to_who_likes_it_better(void **state)
{
	static const char *const accepts[] = {
		OPENMETRICS ";version=1.0.0",
		OPENMETRICS "; version=\"1.0.0\"; charset=utf-8",
		OPENMETRICS ";version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		/* As Prometheus asks. */
		OPENMETRICS ";version=1.0.0," OPENMETRICS
			    ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		"Application/OpenMetrics-Text;Version=1.0.0;Q=0.5",
		"application/*,text/*;q=0.9",
		"*/*;q=0.5," OPENMETRICS,
		"text/plain;q=0.001, " OPENMETRICS ";q=0.002",
		/* The more specific range counts, not the better one. */
		"text/*,text/plain;q=0.1," OPENMETRICS ";q=0.5",
		" \t" OPENMETRICS " ; q=1.000 , text/plain ; q=0.9",
		OPENMETRICS ";note=\"a,b;q=0\\\",c\",text/plain;q=0.5",
	};

	(void)state;
	check(true, accepts, ARRAY_SIZE(accepts));
}

static void another_version_is_another_form(void **state)
{
	static const char *const accepts[] = {
		OPENMETRICS ";version=0.0.1",
		OPENMETRICS ";version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.5",
		OPENMETRICS ";version=0.0.1,text/plain;q=0.1",
		OPENMETRICS ";version=2.0.0,*/*;q=0.1",
		/* Of two ranges the one that names the version counts. */
		OPENMETRICS "," OPENMETRICS ";version=1.0.0;q=0.1,text/plain;q=0.2",
	};

	(void)state;
	check(false, accepts, ARRAY_SIZE(accepts));
}

static void what_cannot_be_read_is_no_wish(void **state)
{
	static const char *const accepts[] = {
		OPENMETRICS ";q=2",
		OPENMETRICS ";q=",
		OPENMETRICS ";q=1.001",
		OPENMETRICS ";q=0.1234",
		OPENMETRICS ";q=x",
		OPENMETRICS ";q=0,5",
		OPENMETRICS ";q=-1",
		OPENMETRICS ";q=1x",
		OPENMETRICS "/x",
		"application",
		"/",
		";",
		";;q=1",
		"\"" OPENMETRICS,
		"application/openmetrics",
		OPENMETRICS ";version=\"1.0.0",
		"*/openmetrics-text",
	};

	(void)state;
	check(false, accepts, ARRAY_SIZE(accepts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_what_nobody_has_to_ask_for),
		cmocka_unit_test(openmetrics_is_given_to_who_likes_it_better),
		cmocka_unit_test(another_version_is_another_form),
		cmocka_unit_test(what_cannot_be_read_is_no_wish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
