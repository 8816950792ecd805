/* SPDX-License-Identifier: Apache-2.0 */
/* top: the open streams, live. */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "cli/top_view.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/log.h"

/* A daemon that does not answer keeps the keys waiting no longer. */
#define PATIENCE_MS 2000u

struct top_config {
	uint64_t interval_ms;
};

static const struct option_spec options[] = {
	{"interval-ms", "MILLISECONDS", OPTION_NUMBER, offsetof(struct top_config, interval_ms),
	 "time between two looks (1000)", 100, 60000},
};

struct top {
	const struct cli *cli;
	struct rpc_client *client; /* NULL: not connected */
	struct terminal terminal;
	struct top_view view;
	char *shown; /* the frame that is on the screen */
	size_t shown_len;
	int signals;  /* signalfd */
	int ended_by; /* a signal, or 0 */
	bool done;
};

static int connect_quietly(struct top *top)
{
	int err = top->client ? 0 : rpc_client_new(top->cli->socket, PATIENCE_MS, &top->client);

	return err ? err : rpc_client_patience(top->client, PATIENCE_MS);
}

static int ask(struct top *top, char *error, size_t error_len)
{
	json_t *status = NULL, *streams = NULL;
	int err = rpc_client_call(top->client, "status", NULL, &status, error, error_len);

	if (!err)
		err = rpc_client_call(top->client, "streams", json_pack("{s:b}", "brief", 1),
				      &streams, error, error_len);
	if (err) {
		json_decref(status);
		rpc_client_free(take_ptr(top->client));
		return err;
	}
	return top_view_take(&top->view, status, streams);
}

/* What is wrong is shown, and tried again the next time. */
static void look(struct top *top)
{
	char error[512];
	int err = connect_quietly(top);

	top->view.message[0] = '\0';
	if (err)
		(void)snprintf(error, sizeof(error), "no daemon answers at '%.100s' (%s)",
			       top->cli->socket, strerror(-err));
	else
		err = ask(top, error, sizeof(error));
	if (err)
		(void)snprintf(top->view.message, sizeof(top->view.message), "%.200s; trying again",
			       err == -ENOMEM ? "no memory" : error);
}

static int draw(struct top *top)
{
	struct screen screen;
	time_t seconds = time(NULL);
	char now[16] = "";
	struct tm local;
	int err;

	if (localtime_r(&seconds, &local))
		(void)strftime(now, sizeof(now), "%H:%M:%S", &local);
	err = screen_begin(&screen, top->terminal.rows, top->terminal.columns, top->cli->colors);
	if (err)
		return err;
	top_view_draw(&top->view, &screen, now);
	err = screen_end(&screen);
	if (!err && (top->shown_len != screen.len || !top->shown ||
		     memcmp(top->shown, screen.text, screen.len) != 0)) {
		err = terminal_write(screen.text, screen.len);
		free(top->shown);
		top->shown = take_ptr(screen.text);
		top->shown_len = screen.len;
	}
	screen_done(&screen);
	return err;
}

/* The whole screen is drawn anew with the next frame. */
static void forget_frame(struct top *top)
{
	free(take_ptr(top->shown));
	top->shown_len = 0;
}

/* Stopped by a key of the terminal, or by a signal; and continued. */
static int stop(struct top *top)
{
	terminal_leave(&top->terminal);
	(void)raise(SIGSTOP);
	forget_frame(top);
	return terminal_enter(&top->terminal);
}

static int take_signal(struct top *top)
{
	struct signalfd_siginfo info;

	if (read(top->signals, &info, sizeof(info)) != sizeof(info))
		return 0;
	switch (info.ssi_signo) {
	case SIGWINCH:
		terminal_measure(&top->terminal);
		forget_frame(top);
		return terminal_write("\x1b[2J", 4);
	case SIGTSTP:
		return stop(top);
	default:
		top->ended_by = (int)info.ssi_signo;
		top->done = true;
		return 0;
	}
}

static int take_keys(struct top *top)
{
	int keys[TERMINAL_KEYS_MAX], count = terminal_keys(keys), i;

	/* The terminal is gone. */
	if (count < 0)
		return count == -EINTR || count == -EAGAIN ? 0 : count;
	for (i = 0; i < count && !top->done; i++) {
		if (keys[i] == KEY_REDRAW)
			forget_frame(top);
		top->done = !top_view_key(&top->view, keys[i]);
	}
	return 0;
}

static int wait_for_something(struct top *top, uint64_t until_ns)
{
	struct pollfd polled[] = {
		{.fd = top->signals, .events = POLLIN},
		{.fd = STDIN_FILENO, .events = POLLIN},
	};
	uint64_t now_ns = clock_boot_ns();
	int ms = until_ns > now_ns ? (int)((until_ns - now_ns) / CLOCK_NS_PER_MS) + 1 : 0;
	int err = 0;

	if (poll(polled, ARRAY_SIZE(polled), ms) < 0)
		return errno == EINTR ? 0 : -errno;
	if (polled[0].revents)
		err = take_signal(top);
	if (!err && !top->done && polled[1].revents)
		err = take_keys(top);
	return err;
}

static int loop(struct top *top, uint64_t interval_ms)
{
	uint64_t next_ns = 0;
	int err = 0;

	while (!top->done && !err) {
		if (clock_boot_ns() >= next_ns) {
			look(top);
			next_ns = clock_boot_ns() + interval_ms * CLOCK_NS_PER_MS;
		}
		err = draw(top);
		if (!err)
			err = wait_for_something(top, next_ns);
	}
	return err;
}

/* -errno. Signals that end or resize come as data, so that the terminal is put back first. */
static int block_signals(int *ret_fd)
{
	static const int caught[] = {SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE};
	sigset_t set;
	size_t i;

	(void)sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(caught); i++)
		(void)sigaddset(&set, caught[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret_fd < 0 ? -errno : 0;
}

/* As whoever started it expects of a program that a signal ended. */
static void end_by(int number)
{
	sigset_t set;

	(void)signal(number, SIG_DFL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	(void)raise(number);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int run_top(struct top *top, uint64_t interval_ms)
{
	int err = terminal_enter(&top->terminal);

	if (err == -ENOTTY) {
		log_error("top needs a terminal: 'sluicectl streams' prints the same once, with "
			  "--json for programs");
		return CLI_EXIT_FAILED;
	}
	if (!err)
		err = loop(top, interval_ms);
	terminal_leave(&top->terminal);
	if (err && err != -ENODATA && err != -EIO) {
		(void)log_errno(LOG_ERR, err, "the terminal");
		return CLI_EXIT_FAILED;
	}
	return CLI_EXIT_DONE;
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	const struct top_config *wanted = config;
	struct top top = {.cli = cli, .signals = -1};
	int status = CLI_EXIT_FAILED;

	(void)count;
	(void)args;
	(void)setlocale(LC_CTYPE, "");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		status = run_top(&top, 0);
	} else if (!cli_connect(cli, false, &top.client)) {
		int err = block_signals(&top.signals);

		if (err)
			(void)log_errno(LOG_ERR, err, "cannot catch signals");
		else
			status = run_top(&top, wanted->interval_ms ? wanted->interval_ms : 1000);
	}
	rpc_client_free(top.client);
	top_view_done(&top.view);
	free(top.shown);
	fd_close(top.signals);
	if (top.ended_by)
		end_by(top.ended_by);
	return status;
}

const struct command command_top = {
	.name = "top",
	.arguments = "",
	.summary = "Show the open streams live, on a terminal",
	.details =
		"Keys: arrows, Page Up and Down, Home and End move the selection and choose the\n"
		"column to sort by (so do the letters of the last line), r reverses, / filters by\n"
		"text in any column, Enter shows or hides all of the selected stream, Ctrl-L "
		"draws\n"
		"anew, q quits.",
	.flags = COMMAND_SOCKET,
	.usage_status = CLI_EXIT_USAGE,
	.options = options,
	.option_count = ARRAY_SIZE(options),
	.config_size = sizeof(struct top_config),
	.run = run,
};
