#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Format, shell scripts, Python sources, manual pages. Says every offence, then fails.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
status=0

step() {
	local name=$1
	shift
	if "$@"; then
		echo "ok - $name"
	else
		echo "not ok - $name"
		status=1
	fi
}

first_line_names_licence() {
	local file line wanted bad=0
	while IFS= read -r file; do
		line=$(head -n 2 "$file")
		case $file in
		bpf/*) wanted='GPL-2.0-only OR BSD-2-Clause' ;;
		include/sluice/abi.h) wanted='GPL-2.0-only OR BSD-2-Clause OR Apache-2.0' ;;
		*) wanted='Apache-2.0' ;;
		esac
		if [[ "$line" != *"SPDX-License-Identifier: $wanted"* ]]; then
			echo "$file: the first line does not name its licence, $wanted"
			bad=1
		fi
	done < <(find bpf user include tests scripts examples packaging Makefile \( -name '*.[ch]' -o -name '*.sh' \
		-o -name '*.py' -o -name '*.map' -o -name '*.in' -o -name '*.yaml' -o -name '*.service' -o -name '*.spec' \
		-o -name '*.prerm' -o -name '*.postrm' -o -name Containerfile -o -name Makefile \) -print | sort)
	return "$bad"
}

# groff reads them otherwise than mandoc does, and says what it would print badly.
pages_print() {
	local page said bad=0
	for page in "$@"; do
		said=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
		if [ -n "$said" ]; then
			echo "$page: $said"
			bad=1
		fi
	done
	return "$bad"
}

python_compiles() {
	local file bad=0
	while IFS= read -r file; do
		/usr/bin/python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' \
			"$file" || bad=1
	done < <(find . -path ./.git -prune -o -path ./build -prune -o -name '*.py' -print)
	return "$bad"
}

mapfile -t sources < <(find bpf user include tests examples -name '*.[ch]' 2>/dev/null | sort)
mapfile -t scripts < <(find scripts tests .ci examples packaging -type f \
	\( -name '*.sh' -o -name run -o -name '*.prerm' -o -name '*.postrm' \) \
	2>/dev/null | sort)
mapfile -t pages < <(find man -name '*.[1-8]' 2>/dev/null | sort)

step "clang-format" clang-format --dry-run -Werror "${sources[@]}"
step "shellcheck" shellcheck -x -S warning -e SC1091 "${scripts[@]}"
step "licences" first_line_names_licence
step "python" python_compiles
if [ "${#pages[@]}" -eq 0 ]; then
	:
elif command -v mandoc >/dev/null; then
	step "manual pages" mandoc -T lint -W warning "${pages[@]}"
else
	echo "ok - manual pages # SKIP mandoc is not installed"
fi
if [ "${#pages[@]}" -gt 0 ] && man --version >/dev/null 2>&1; then
	step "manual pages, as groff prints them" pages_print "${pages[@]}"
fi
exit "$status"
