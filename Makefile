# The short way to everything; CMakePresets.json has the long one.
PREFIX ?= /usr/local
# ccache has to be told that precompiled headers are in use.
CACHED := -DCMAKE_CXX_COMPILER_LAUNCHER="env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache"
PROMPT ?= The capital of France is
FUZZ_SECONDS ?= 60

.PHONY: all demo test install bench-skeleton fuzz docs clean setup
all: build/release/bin/pteron

setup:
	@scripts/setup.sh

build/release/build.ninja: | setup
	cmake --preset release $(CACHED) >/dev/null

.PHONY: build/release/bin/pteron
build/release/bin/pteron: build/release/build.ninja
	@cmake --build build/release --target pteron_command | tail -n 3

# Installs what is missing, builds, fetches SmolLM2, exports it and lets it write.
demo: all
	@model=$$(scripts/fetch_smollm2.sh cache/models) && \
	if [ ! -f cache/smollm2.pte ] || [ build/release/bin/pteron -nt cache/smollm2.pte ]; then \
	  build/release/bin/pteron export "$$model" -o cache/smollm2.pte --backend portable; fi && \
	build/release/bin/pteron run cache/smollm2.pte -p "$(PROMPT)" -n 48 --echo

# Everything under address and undefined-behaviour sanitizers, but what only takes long there; then in release what depends on the optimiser: kernels, the
# run side, the command end to end, the Python package, the installed package, the rules of the house.
test:
	@scripts/setup.sh --test
	@scripts/fetch_smollm2.sh cache/models >/dev/null
	cmake --preset asan $(CACHED) >/dev/null
	cmake --build build/asan
	ctest --test-dir build/asan --output-on-failure -j2 --timeout 900 -LE release_only
	cmake --preset release $(CACHED) >/dev/null
	cmake --build build/release --target pteron_release_tests
	ctest --test-dir build/release --output-on-failure -j2 --timeout 1200 -L release

install: all
	cmake --install build/release --prefix $(PREFIX)

# Every reader of outside bytes under libFuzzer and sanitizers, one target after the other: make fuzz FUZZ_SECONDS=600
fuzz:
	@scripts/setup.sh --fuzz
	cmake --preset fuzz -DCMAKE_CXX_COMPILER_LAUNCHER=ccache >/dev/null
	cmake --build build/fuzz --target pteron_fuzzers
	scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS)

bench-skeleton: all
	python3 bench/skeleton.py

docs: all
	@scripts/build_docs.sh build/release/bin/pteron

clean:
	rm -rf build
