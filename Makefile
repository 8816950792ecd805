# SPDX-License-Identifier: Apache-2.0
#
# One Makefile for everything; what it makes goes to build/. `make help` lists the targets.

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG   ?= clang
OBJCOPY ?= objcopy
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool) bpftool)
V       ?= 0
ifeq ($(V),0)
Q := @
say = @printf '  %-8s %s\n' '$(1)' '$(2)';
else
Q :=
say =
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all help demo check check-root check-vm fuzz bench install clean deps lint
.DEFAULT_GOAL := all

# --- Flags -----------------------------------------------------------------------------------
VERSION  := 0.1.0
PKGS_CORE := icu-uc icu-i18n libcrypto zlib libbrotlidec libzstd libpcre2-8
PKGS_SYS  := libevent yaml-0.1 jansson libcap-ng libsystemd
PKGS_KERN := libbpf
PKGS_DAEMON := libcap-ng libsystemd libcurl
PKGS_CLI := libseccomp libcap-ng
# Of those of core, what the functions of libsluice need.
PKGS_LIB := icu-uc libcrypto
# What only unit tests use: libbrotlienc makes what libbrotlidec reads.
PKGS_UNIT := cmocka libbrotlienc
PKGS := $(sort $(PKGS_CORE) $(PKGS_SYS) $(PKGS_KERN) $(PKGS_DAEMON) $(PKGS_CLI))
# These need no package, or install what is missing before a second make does the work.
ifneq ($(filter-out clean deps help demo check check-root check-vm fuzz bench lint,$(or $(MAKECMDGOALS),all)),)
MISSING := $(shell for tool in $(firstword $(CC)) $(CLANG) $(BPFTOOL) pkg-config; do \
	command -v $$tool >/dev/null || echo $$tool; done; \
	for package in $(PKGS); do pkg-config --exists $$package 2>/dev/null || echo $$package; done)
ifneq ($(strip $(MISSING)),)
$(error missing: $(strip $(MISSING)). `scripts/deps.sh` installs it (as root), or lists the packages)
endif
PKG_FLAGS := $(shell pkg-config --cflags $(PKGS))
# Asked once here, not in each recipe.
$(foreach package,$(PKGS) $(PKGS_UNIT),$(eval LIBS_$(package) := $(shell pkg-config --libs \
	$(package) 2>/dev/null)))
endif
libs = $(foreach package,$(1),$(LIBS_$(package)))

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
OPT    ?= -O2 -g
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
CPPFLAGS += -D_GNU_SOURCE -DSLUICE_VERSION='"$(VERSION)"' -Iinclude -Iuser -I$(BUILD)
CFLAGS_ALL = -std=gnu11 $(WARN) $(OPT) $(HARDEN) $(CPPFLAGS) $(PKG_FLAGS) $(CFLAGS) -MMD -MP
# Position independent, for the shared library too: the programs' code is the same, byte for byte.
CFLAGS_CORE := -Wconversion -fPIC -fvisibility=hidden
LDFLAGS_ALL = -pie -Wl,-z,relro,-z,now $(LDFLAGS)
# One pass over a flow crosses scanner, extractor and matcher: inlining across them is a seventh
# of its speed. Fat objects, since tests link without it, in a tenth of the time.
LTO ?= -flto=auto -ffat-lto-objects
OPT_CORE ?= -O3 $(LTO)
LTO_LINK := -fno-lto
ifeq ($(CI),true)
WARN += -Werror
endif
SAN := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SAN_CFLAGS = -std=gnu11 $(WARN) -Werror=unused-function $(SAN) -fPIE $(CPPFLAGS) -Itests $(PKG_FLAGS) $(CFLAGS) -MMD -MP

BPF_ARCH := $(shell uname -m | sed -e 's/x86_64/x86/' -e 's/aarch64/arm64/' -e 's/ppc64le/powerpc/')
BPF_CFLAGS := -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Wall -Werror \
	-idirafter /usr/include/$(shell uname -m)-linux-gnu -Iinclude -Ibpf -MMD -MP

# --- Sources ---------------------------------------------------------------------------------
BASE_SRC   := $(wildcard user/base/*.c)
CORE_SRC   := $(wildcard user/core/*.c)
LIB_SRC    := $(wildcard user/lib/*.c)
SYS_SRC    := $(wildcard user/sys/*.c)
KERN_SRC   := $(wildcard user/kern/*.c)
DAEMON_SRC := $(wildcard user/daemon/*.c)
CLI_SRC    := $(wildcard user/cli/*.c)
DRIVER_SRC := $(wildcard tests/driver/*.c)
BPF_SRC    := $(wildcard bpf/*.bpf.c)
# Built, never loaded or linked: names the shared structs so that BTF keeps them.
BPF_ABI    := bpf/abi_check.bpf.c
# The maps come first: bpftool 7.1 loses the offsets of maps that it sees as extern before.
BPF_MAPS   := bpf/maps.bpf.c
# An object of its own, loaded for each reading.
BPF_CENSUS := bpf/census.bpf.c
BPF_LINKED := $(BPF_MAPS) $(filter-out $(BPF_ABI) $(BPF_MAPS) $(BPF_CENSUS),$(BPF_SRC))

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
san = $(patsubst %.c,$(BUILD)/san/%.o,$(1))
CORE_OBJ := $(call obj,$(BASE_SRC) $(CORE_SRC))
LIB_OBJ  := $(call obj,$(LIB_SRC))
SYS_OBJ  := $(call obj,$(SYS_SRC))
KERN_OBJ := $(call obj,$(KERN_SRC))

UNIT_SRC  := $(wildcard tests/unit/test_*.c)
UNIT_LIB  := $(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c))
BPFT_SRC  := $(wildcard tests/bpf/test_*.c)
BPFT_LIB  := $(filter-out $(BPFT_SRC),$(wildcard tests/bpf/*.c))
BENCH_SRC := $(wildcard tests/bench/bench_*.c)
AGENT_SRC := $(wildcard tests/integration/*.c)
# Targets and what they share; who runs them, a fuzzer or a replay of files, is a file of its own.
FUZZ_SRC  := $(filter-out tests/fuzz/libfuzzer.c tests/fuzz/replay.c,$(wildcard tests/fuzz/*.c)) \
	tests/unit/piece_story.c
UNIT_BIN  := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SRC))
BPFT_BIN  := $(patsubst tests/bpf/%.c,$(BUILD)/tests/bpf/%,$(BPFT_SRC))
BENCH_BIN := $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(BENCH_SRC))
AGENT_BIN := $(patsubst tests/integration/%.c,$(BUILD)/tests/integration/%,$(AGENT_SRC))

PROGRAMS := $(BUILD)/sluiced $(BUILD)/sluicectl $(BUILD)/sluice-driver
LIBRARIES := $(BUILD)/libsluice.a $(BUILD)/libsluice.so
SKEL := $(BUILD)/bpf/sluice.skel.h $(BUILD)/bpf/census.skel.h

all: $(PROGRAMS) $(LIBRARIES) $(BUILD)/sluicectl.bash ## build everything

# --- Kernel side -----------------------------------------------------------------------------
$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MF $(@:.o=.d) -c $< -o $@

$(BUILD)/bpf/sluice.bpf.o: $(patsubst bpf/%.bpf.c,$(BUILD)/bpf/%.bpf.o,$(BPF_LINKED))
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(BUILD)/bpf/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

$(KERN_OBJ) $(call san,$(KERN_SRC)): | $(SKEL)

# --- User side -------------------------------------------------------------------------------
$(BUILD)/obj/user/core/%.o: CFLAGS_ALL += $(CFLAGS_CORE) $(OPT_CORE)
$(BUILD)/obj/user/lib/%.o: CFLAGS_ALL += $(CFLAGS_CORE)
$(BUILD)/obj/tests/%.o: CPPFLAGS += -Itests
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(BUILD)/san/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC-SAN,$@)
	$(Q)$(CC) $(SAN_CFLAGS) -c $< -o $@

$(BUILD)/libcore.a: $(CORE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# libsluice: of core only what its functions need, joined in one object in which every other name
# is local, so that none can clash with a host's own.
LIB_MAP := user/lib/sluice.map
$(BUILD)/libsluice.o: $(LIB_OBJ) $(BUILD)/libcore.a $(LIB_MAP)
	$(call say,JOIN,$@)
	$(Q)sed -n 's/^\t\(sluice_[a-z_]*\);$$/\1/p' $(LIB_MAP) > $(@:.o=.names)
	$(Q)$(CC) -r -nostdlib -fno-lto -o $@ $(filter %.o,$^) $(filter %.a,$^)
	$(Q)$(OBJCOPY) --wildcard --remove-section '.gnu.lto_*' $@
	$(Q)$(OBJCOPY) --keep-global-symbols=$(@:.o=.names) $@

$(BUILD)/libsluice.a: $(BUILD)/libsluice.o
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libsluice.so.0: $(BUILD)/libsluice.o
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(LIB_MAP) -Wl,-z,defs,-z,relro,-z,now \
		$(LDFLAGS) -o $@ $< $(call libs,$(PKGS_LIB))

$(BUILD)/libsluice.so: $(BUILD)/libsluice.so.0
	$(Q)ln -sf $(<F) $@

$(PROGRAMS) $(BENCH_BIN): LTO_LINK := $(LTO)
define link
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LTO_LINK) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(call libs,$(1))
endef

# The status page, one document, as data of the daemon.
$(BUILD)/page/page.c: scripts/page.sh $(wildcard user/daemon/page/*)
	@mkdir -p $(@D)
	$(call say,PAGE,$@)
	$(Q)scripts/page.sh user/daemon/page > $@

$(BUILD)/page/page.o: $(BUILD)/page/page.c user/daemon/web_page.h
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(BUILD)/sluiced: $(call obj,$(DAEMON_SRC)) $(BUILD)/page/page.o $(KERN_OBJ) $(SYS_OBJ) $(BUILD)/libcore.a
	$(call link,$(PKGS_DAEMON) $(PKGS_SYS) $(PKGS_KERN) $(PKGS_CORE))

$(BUILD)/sluicectl: $(call obj,$(CLI_SRC)) $(SYS_OBJ) $(BUILD)/libcore.a
	$(call link,$(PKGS_CLI) $(PKGS_SYS) $(PKGS_CORE))

$(BUILD)/sluicectl.bash: $(BUILD)/sluicectl
	$(Q)$< completion bash > $@

$(BUILD)/sluice-driver: $(call obj,$(DRIVER_SRC)) $(BUILD)/libcore.a
	$(call link,jansson $(PKGS_CORE))

# --- Tests -----------------------------------------------------------------------------------
# tests/unit/allocation.c lets an allocation of ours fail.
WRAP_ALLOCATION := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup
# Unit tests run under ASan and UBSan, and see core, base, lib, sys and the ABI; never a socket.
$(BUILD)/tests/unit/%: $(BUILD)/san/tests/unit/%.o $(call san,$(UNIT_LIB) $(BASE_SRC) $(CORE_SRC) $(LIB_SRC) $(SYS_SRC))
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN) -pie $(WRAP_ALLOCATION) -o $@ $^ $(call libs,$(PKGS_UNIT) $(PKGS_SYS) $(PKGS_KERN) $(PKGS_CORE) libseccomp)
# The system call filter of run needs no privileges, and is tried by a process of the test's own.
$(BUILD)/tests/unit/test_seccomp: $(call san,user/cli/run_seccomp.c)
$(BUILD)/tests/unit/test_options: $(call san,user/cli/options.c)
$(BUILD)/tests/unit/test_screen: $(call san,user/cli/screen.c user/cli/style.c user/cli/terminal.c)
$(BUILD)/tests/unit/test_cgroup_find: $(call san,user/cli/cgroup_find.c)
$(BUILD)/tests/unit/test_json_text: $(call san,user/daemon/json_text.c)
$(BUILD)/tests/unit/test_handover_wire: $(call san,user/daemon/handover_wire.c)
$(BUILD)/tests/unit/test_hold: $(call san,user/daemon/hold.c)
$(BUILD)/tests/unit/test_guard: $(call san,user/daemon/hold.c user/daemon/partial.c)
$(BUILD)/tests/unit/test_ahead: $(call san,user/daemon/ahead.c)
$(BUILD)/tests/unit/test_share: $(call san,user/daemon/share.c)
$(BUILD)/tests/unit/test_census: $(call san,user/daemon/census.c)
$(BUILD)/tests/unit/test_stats: $(call san,user/daemon/stats.c user/daemon/reason.c)
$(BUILD)/tests/unit/test_metrics_accept: $(call san,user/daemon/metrics_accept.c)
$(BUILD)/tests/unit/test_metrics_text: $(call san,user/daemon/metrics_text.c user/daemon/histogram.c)
$(BUILD)/tests/unit/test_metrics_age: $(call san,user/daemon/age.c)
$(BUILD)/tests/unit/test_web_host: $(call san,user/daemon/web_host.c)
$(BUILD)/tests/unit/test_audit_record: $(call san,user/daemon/audit_record.c)
$(BUILD)/tests/unit/test_policies: $(call san,user/daemon/policies.c)
$(BUILD)/tests/unit/test_interceptor: $(call san,$(addprefix user/daemon/,interceptor.c \
	interceptor_tell.c interceptor_totals.c histogram.c))
$(BUILD)/tests/unit/test_audit_file: $(call san,user/daemon/audit_file.c)
$(BUILD)/tests/unit/test_audit_quota: $(call san,user/daemon/audit_quota.c)
$(BUILD)/tests/unit/test_audit_syncer: $(call san,user/daemon/audit_syncer.c)
$(BUILD)/tests/unit/test_audit_tail: $(call san,user/daemon/audit_tail.c user/daemon/audit_record.c)

$(BUILD)/tests/bpf/%: $(BUILD)/obj/tests/bpf/%.o $(call obj,$(BPFT_LIB)) $(KERN_OBJ) $(BUILD)/libcore.a
	$(call link,cmocka $(PKGS_KERN) $(PKGS_CORE))

$(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(BUILD)/libcore.a
	$(call link,$(PKGS_CORE))

$(BUILD)/tests/bench/bench_audit: $(call obj,user/daemon/audit_record.c)

$(BUILD)/tests/integration/%: $(BUILD)/obj/tests/integration/%.o
	$(call link,)

# Fuzzing is clang's; the files that it found run under the same sanitizers as unit tests.
FUZZ_PKGS := cmocka jansson $(PKGS_CORE)
FUZZ_SAN := -O2 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
$(BUILD)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC-FUZZ,$@)
	$(Q)$(CLANG) -std=gnu11 $(WARN) $(FUZZ_SAN) -fPIE $(CPPFLAGS) -Itests $(PKG_FLAGS) -MMD -MP -c $< -o $@

$(BUILD)/fuzz/sluice-fuzz: $(patsubst %.c,$(BUILD)/fuzz/obj/%.o,$(FUZZ_SRC) tests/fuzz/libfuzzer.c $(BASE_SRC) $(CORE_SRC))
	$(call say,LINK,$@)
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined -pie -o $@ $^ $(call libs,$(FUZZ_PKGS))

$(BUILD)/tests/fuzz/replay: $(call san,$(FUZZ_SRC) tests/fuzz/replay.c $(BASE_SRC) $(CORE_SRC))
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN) -pie -o $@ $^ $(call libs,$(FUZZ_PKGS))

.SECONDARY:
-include $(shell find $(BUILD) \( -path $(BUILD)/vm -o -path $(BUILD)/deb \) -prune -o -type f -name '*.d' -print 2>/dev/null)

# What follows installs missing packages first, then builds in a second make, since
# pkg-config has answers only then.
BUILD_FIRST = $(Q)scripts/deps.sh && $(MAKE) --no-print-directory -j$(shell nproc)
ifneq ($(filter check,$(MAKECMDGOALS)),)
check-root: | check
endif

.PHONY: test-programs root-programs bench-programs fuzz-programs
test-programs: all $(UNIT_BIN) $(BUILD)/tests/fuzz/replay $(BUILD)/bpf/abi_check.bpf.o
root-programs: all $(BPFT_BIN) $(AGENT_BIN)
bench-programs: all $(BENCH_BIN) $(AGENT_BIN)
fuzz-programs: $(BUILD)/fuzz/sluice-fuzz

deps: ## install what building and testing need (Debian 12, as root)
	$(Q)scripts/deps.sh

demo: ## run the main job: a real program's stream held, judged, released
	$(BUILD_FIRST) all && BUILD=$(BUILD) scripts/demo.sh

check: ## tests that need no root: unit tests under ASan and UBSan, layers, ABI, cases
	$(BUILD_FIRST) test-programs && BUILD=$(BUILD) scripts/check.sh

check-root: ## tests with real BPF programs and sockets, as root
	$(BUILD_FIRST) root-programs && BUILD=$(BUILD) scripts/check-root.sh

check-vm: ## the same on Debian's own kernels, each in a machine of QEMU's, without root
	$(BUILD_FIRST) root-programs && BUILD=$(BUILD) scripts/check-vm.sh

fuzz: ## every fuzz target for FUZZ_SECONDS (60) seconds, or those that FUZZ_TARGETS names
	$(BUILD_FIRST) fuzz-programs && BUILD=$(BUILD) scripts/fuzz.sh

bench: ## benchmarks, each beside what it is compared with
	$(BUILD_FIRST) bench-programs && BUILD=$(BUILD) scripts/bench.sh

lint: ## format, shell scripts, manual pages
	$(Q)scripts/lint.sh

MAN := $(wildcard man/*.[1-8])
# A distribution's are elsewhere: debian/rules, the spec.
SBINDIR     ?= $(PREFIX)/sbin
LIBDIR      ?= $(PREFIX)/lib
SYSCONFDIR  ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
UNITDIR     ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
install: all ## install below DESTDIR and PREFIX
	install -D -m 0755 $(BUILD)/sluiced $(DESTDIR)$(SBINDIR)/sluiced
	install -D -m 0755 $(BUILD)/sluicectl $(DESTDIR)$(PREFIX)/bin/sluicectl
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/sluice README.md LICENSE LICENSES/*.txt
	install -D -m 0644 include/sluice/sluice.h $(DESTDIR)$(PREFIX)/include/sluice/sluice.h
	install -D -m 0644 $(BUILD)/libsluice.a $(DESTDIR)$(LIBDIR)/libsluice.a
	install -m 0755 $(BUILD)/libsluice.so.0 $(DESTDIR)$(LIBDIR)/libsluice.so.0
	ln -sf libsluice.so.0 $(DESTDIR)$(LIBDIR)/libsluice.so
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
		-e 's|@PKGS_LIB@|$(PKGS_LIB)|' user/lib/sluice.pc.in \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/sluice.pc
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/sluice/examples examples/host/host.c
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/sluice/examples/policies examples/policies/*.yaml
	install -D -m 0755 -t $(DESTDIR)$(PREFIX)/share/doc/sluice/examples/interceptors \
		examples/interceptors/interceptor.py examples/interceptors/interceptor.mjs
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/sluice/examples/systemd \
		packaging/systemd/guarded.conf packaging/systemd/agents.yaml
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/sluice/examples/monitoring \
		packaging/monitoring/prometheus.yaml packaging/monitoring/alerts.yaml \
		packaging/monitoring/dashboard.json
	install -D -m 0644 packaging/policy.yaml $(DESTDIR)$(SYSCONFDIR)/sluice/policy.yaml
	install -D -m 0644 packaging/systemd/sluice.default $(DESTDIR)$(SYSCONFDIR)/default/sluice
	install -d $(DESTDIR)$(UNITDIR)
	$(foreach unit,sluiced.service sluice-watch@.service,sed -e 's|/usr/sbin/|$(SBINDIR)/|' \
		-e 's|/usr/bin/|$(PREFIX)/bin/|' -e 's|/etc/|$(SYSCONFDIR)/|' packaging/systemd/$(unit) \
		> $(DESTDIR)$(UNITDIR)/$(unit) &&) true
	install -D -m 0644 packaging/systemd/sluice.sysusers $(DESTDIR)$(SYSUSERSDIR)/sluice.conf
	install -D -m 0644 packaging/systemd/sluice.tmpfiles $(DESTDIR)$(TMPFILESDIR)/sluice.conf
	install -D -m 0644 $(BUILD)/sluicectl.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/sluicectl
	$(foreach page,$(MAN),install -D -m 0644 $(page) \
		$(DESTDIR)$(PREFIX)/share/man/man$(patsubst .%,%,$(suffix $(page)))/$(notdir $(page)) &&) true

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14
