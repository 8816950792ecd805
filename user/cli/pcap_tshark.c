/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of cli/pcap.h that is tshark: run without a shell, without privileges and
 * without a network, since what it reads may be hostile; one line a packet comes back.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/pcap.h"
#include "sys/fd.h"
#include "sys/log.h"

/* What tshark says of its own, at most. */
#define WORDS_MAX 4096u

/* Of a line, in this order; named in arguments[]. */
enum field {
	FIELD_TIME,
	FIELD_STREAM,
	FIELD_FROM4,
	FIELD_FROM6,
	FIELD_TO4,
	FIELD_TO6,
	FIELD_FROM_PORT,
	FIELD_TO_PORT,
	FIELD_SEQUENCE,
	FIELD_ACKNOWLEDGED,
	FIELD_FLAGS,
	FIELD_LEN,
	FIELD_PAYLOAD,
	_FIELD_MAX,
};

struct tshark {
	pid_t pid;
	FILE *lines;
	int words; /* a file: its standard error */
};

/* Gives up all that root has; the capture is open already. */
static int drop_privileges(void)
{
	const struct passwd *nobody;

	if (geteuid() != 0)
		return 0;
	/* Without a network where that can be had: name resolution is off anyway. */
	(void)unshare(CLONE_NEWNET);
	nobody = getpwnam("nobody");
	if (!nobody || setgroups(0, NULL) ||
	    setresgid(nobody->pw_gid, nobody->pw_gid, nobody->pw_gid) ||
	    setresuid(nobody->pw_uid, nobody->pw_uid, nobody->pw_uid))
		return -EPERM;
	return 0;
}

/* How our child ends that did not become tshark. */
enum { STATUS_NOT_STARTED = 126, STATUS_NOT_FOUND = 127 };

/* Nobody's preferences, nor plug-ins, have a say. */
static const char *const environment[] = {"HOME=/nonexistent",
					  "XDG_CONFIG_HOME=/nonexistent",
					  "PATH=/usr/bin:/bin",
					  "LC_ALL=C.UTF-8",
					  "TZ=UTC",
					  NULL};

/* No dissector but those below TCP: a payload is data, and is not put together there. */
static void exec_tshark(int capture, int lines, int words, const char *filter)
{
	const char *arguments[] = {"tshark",
				   "-n",
				   "-Q",
				   "-r",
				   "-",
				   "-d",
				   "tcp.port==0-65535,data",
				   "-d",
				   "udp.port==0-65535,data",
				   "-o",
				   "tcp.desegment_tcp_streams:FALSE",
				   "-o",
				   "tcp.try_heuristic_first:FALSE",
				   "-Y",
				   filter,
				   "-T",
				   "fields",
				   "-e",
				   "frame.time_epoch",
				   "-e",
				   "tcp.stream",
				   "-e",
				   "ip.src",
				   "-e",
				   "ipv6.src",
				   "-e",
				   "ip.dst",
				   "-e",
				   "ipv6.dst",
				   "-e",
				   "tcp.srcport",
				   "-e",
				   "tcp.dstport",
				   "-e",
				   "tcp.seq_raw",
				   "-e",
				   "tcp.ack_raw",
				   "-e",
				   "tcp.flags",
				   "-e",
				   "tcp.len",
				   "-e",
				   "tcp.payload",
				   NULL};
	const struct rlimit words_max = {WORDS_MAX, WORDS_MAX}, none = {0, 0};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGXFSZ, SIG_IGN);
	if (dup2(capture, STDIN_FILENO) < 0 || dup2(lines, STDOUT_FILENO) < 0 ||
	    dup2(words, STDERR_FILENO) < 0 || close_range(STDERR_FILENO + 1, ~0u, 0) ||
	    setrlimit(RLIMIT_FSIZE, &words_max) || setrlimit(RLIMIT_CORE, &none) || chdir("/") ||
	    drop_privileges() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(STATUS_NOT_STARTED);
	(void)execvpe(arguments[0], (char *const *)arguments, (char *const *)environment);
	_exit(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_STARTED);
}

static int start(int capture, const uint64_t *number, struct tshark *ret_tshark)
{
	struct tshark tshark = {.words = -1};
	char filter[96] = "tcp && !icmp && !icmpv6";
	int pair[2], err;

	if (number)
		(void)snprintf(filter, sizeof(filter), "tcp.stream == %llu && !icmp && !icmpv6",
			       (unsigned long long)*number);
	if (pipe2(pair, O_CLOEXEC))
		return -errno;
	tshark.words = memfd_create("tshark", MFD_CLOEXEC);
	tshark.lines = fdopen(pair[0], "r");
	err = tshark.words < 0 || !tshark.lines ? -errno : 0;
	tshark.pid = err ? -1 : fork();
	if (tshark.pid == 0)
		exec_tshark(capture, pair[1], tshark.words, filter);
	if (!err && tshark.pid < 0)
		err = -errno;
	(void)close(pair[1]);
	if (err) {
		if (tshark.lines)
			(void)fclose(tshark.lines);
		else
			(void)close(pair[0]);
		fd_close(tshark.words);
		return err;
	}
	*ret_tshark = tshark;
	return 0;
}

/* The last line that it said; "" without. */
static void last_words(const struct tshark *tshark, char *words, size_t room)
{
	ssize_t len = pread(tshark->words, words, room - 1, 0);
	char *line;

	words[len > 0 ? len : 0] = '\0';
	while (len > 0 && words[len - 1] == '\n')
		words[--len] = '\0';
	line = strrchr(words, '\n');
	if (line)
		(void)memmove(words, line + 1, strlen(line));
}

/* Ends it where err is not 0; else waits for its end. */
static int finish(struct tshark *tshark, int err, bool *ret_cut_short)
{
	char words[WORDS_MAX];
	int status = 0;

	if (err)
		(void)kill(tshark->pid, SIGKILL);
	(void)fclose(tshark->lines);
	while (waitpid(tshark->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	last_words(tshark, words, sizeof(words));
	fd_close(tshark->words);
	if (err || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return err;
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_NOT_FOUND) {
		log_error("a capture of packets is read through tshark, which is not installed: "
			  "on Debian, apt-get install tshark");
		return -ENOENT;
	}
	if (WIFEXITED(status) && strstr(words, "cut short")) {
		*ret_cut_short = true;
		return 0;
	}
	log_error("tshark cannot read the capture (%s %d)%s%s",
		  WIFSIGNALED(status) ? "signal" : "status",
		  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), *words ? ": " : "",
		  words);
	return -EIO;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_number(const char *text, int base, uint64_t max, uint64_t *ret_number)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, base);
	if (errno || digit(*text) < 0 || *end || number > max)
		return -EPROTO;
	*ret_number = number;
	return 0;
}

/* Seconds with nine decimals. */
static int read_time(char *text, uint64_t *ret_time)
{
	char *point = strchr(text, '.');
	uint64_t seconds, rest;

	if (!point || strlen(point) != 10)
		return -EPROTO;
	*point = '\0';
	if (read_number(text, 10, UINT64_MAX / 1000000000u - 1, &seconds) ||
	    read_number(point + 1, 10, 999999999u, &rest))
		return -EPROTO;
	*ret_time = seconds * 1000000000u + rest;
	return 0;
}

/* In place. */
static int read_hex(char *text, size_t *ret_len)
{
	uint8_t *bytes = (uint8_t *)text;
	size_t i;

	for (i = 0; text[2 * i]; i++) {
		int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);

		if (low < 0)
			return -EPROTO;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	*ret_len = i;
	return 0;
}

/* Of several, one in another: the innermost. */
static const char *innermost(const char *first, const char *second)
{
	const char *all = *second ? second : first;
	const char *last = strrchr(all, ',');

	return last ? last + 1 : all;
}

/* -EPROTO: not what was asked for. 1: a packet of more than one TCP header. */
static int parse_line(char *line, struct pcap_packet *ret_packet)
{
	char *fields[_FIELD_MAX];
	uint64_t numbers[_FIELD_MAX];
	struct pcap_packet packet;

	for (int i = 0; i < _FIELD_MAX; i++) {
		fields[i] = strsep(&line, "\t");
		if (!fields[i])
			return -EPROTO;
	}
	if (line)
		return -EPROTO;
	if (strchr(fields[FIELD_STREAM], ',') || strchr(fields[FIELD_LEN], ','))
		return 1;
	if (read_time(fields[FIELD_TIME], &packet.time) ||
	    read_number(fields[FIELD_STREAM], 10, UINT32_MAX, &numbers[FIELD_STREAM]) ||
	    read_number(fields[FIELD_FROM_PORT], 10, UINT16_MAX, &numbers[FIELD_FROM_PORT]) ||
	    read_number(fields[FIELD_TO_PORT], 10, UINT16_MAX, &numbers[FIELD_TO_PORT]) ||
	    read_number(fields[FIELD_SEQUENCE], 10, UINT32_MAX, &numbers[FIELD_SEQUENCE]) ||
	    read_number(fields[FIELD_ACKNOWLEDGED], 10, UINT32_MAX, &numbers[FIELD_ACKNOWLEDGED]) ||
	    read_number(fields[FIELD_FLAGS], 16, UINT16_MAX, &numbers[FIELD_FLAGS]) ||
	    read_number(fields[FIELD_LEN], 10, UINT32_MAX, &packet.len) ||
	    read_hex(fields[FIELD_PAYLOAD], &packet.have) || packet.have > packet.len)
		return -EPROTO;
	packet.bytes = (const uint8_t *)fields[FIELD_PAYLOAD];
	packet.stream = (uint32_t)numbers[FIELD_STREAM];
	packet.from = innermost(fields[FIELD_FROM4], fields[FIELD_FROM6]);
	packet.to = innermost(fields[FIELD_TO4], fields[FIELD_TO6]);
	packet.from_port = (uint16_t)numbers[FIELD_FROM_PORT];
	packet.to_port = (uint16_t)numbers[FIELD_TO_PORT];
	packet.sequence = (uint32_t)numbers[FIELD_SEQUENCE];
	packet.acknowledged = (uint32_t)numbers[FIELD_ACKNOWLEDGED];
	packet.flags = (unsigned int)numbers[FIELD_FLAGS];
	*ret_packet = packet;
	return 0;
}

static int read_lines(FILE *lines, struct pcap *pcap)
{
	struct pcap_packet packet;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int err = 0;

	while (!err && (len = getline(&line, &room, lines)) > 0) {
		if (line[len - 1] != '\n' || strlen(line) != (size_t)len)
			break;
		line[len - 1] = '\0';
		err = parse_line(line, &packet);
		if (err == 1)
			pcap->unread++;
		if (err)
			err = MIN(err, 0);
		else
			err = pcap_add(pcap, &packet);
	}
	if (!err && ferror(lines))
		err = -EIO;
	free(line);
	return err;
}

int pcap_read(int fd, const uint64_t *number, struct pcap *ret_pcap)
{
	struct pcap pcap = {0};
	struct tshark tshark = {.words = -1};
	int err = start(fd, number, &tshark);

	if (err)
		return log_errno(LOG_ERR, err, "cannot start tshark");
	err = read_lines(tshark.lines, &pcap);
	if (err == -EFBIG)
		log_error("the capture holds too much to be replayed at once: over %llu MiB of "
			  "payload, or %u streams; choose one with --stream",
			  PCAP_BYTES_MAX >> 20, PCAP_STREAMS_MAX);
	else if (err == -EPROTO)
		log_error("tshark answers in a way that cannot be read");
	else if (err)
		(void)log_errno(LOG_ERR, err, "cannot read the capture");
	err = finish(&tshark, err, &pcap.cut_short);
	if (err) {
		pcap_done(&pcap);
		return err;
	}
	pcap_finish(&pcap);
	*ret_pcap = pcap;
	return 0;
}
