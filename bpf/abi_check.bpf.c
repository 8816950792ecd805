/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Built, never loaded: names every shared struct as a global, since BTF keeps
 * only what something names, so that a test can compare what the BPF compiler
 * laid out with what the user side did.
 */
#include <linux/types.h>
#include "sluice/abi.h"

struct sluice_address check_address;
struct sluice_socket check_socket;
struct sluice_gate check_gate;
struct sluice_origin check_origin;
struct sluice_origin_key check_origin_key;
struct sluice_route_key check_route_key;
struct sluice_watch check_watch;
struct sluice_rule check_rule;
struct sluice_policy check_policy;
struct sluice_unix_key check_unix_key;
struct sluice_config check_config;
struct sluice_open_stream check_open_stream;
struct sluice_ledger check_ledger;
struct sluice_refusal_key check_refusal_key;
struct sluice_refusals check_refusals;
struct sluice_event check_event;
struct sluice_census check_census;
enum sluice_counter check_counter;
enum sluice_reach check_reach;
enum sluice_event_type check_event_type;
enum sluice_socket_flag check_socket_flag;
enum sluice_dns check_dns;
enum sluice_rule_action check_rule_action;
