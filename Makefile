# The everyday commands. Each installs missing packages (tools/setup), which needs neither network nor root when nothing is missing.
#
#   make run      build, simulate the heavy top, write the page that shows it
#   make test     build everything and run all tests but the soak tests
#   make build    the library and the program build/bin/kreisel
#   make test-cluster  studies on Dask, MPI and SLURM, all of them on this machine
#   make asan     all tests with address and undefined-behaviour sanitizers, in build/asan
#   make soak     the long random tests
#   make reproduce  every figure and table of the papers, also with wrong settings that the verdicts must detect
#   make bench    the benchmarks
#   make install  to PREFIX (/usr/local), DESTDIR is respected
#   make package  Debian packages of program, library and Python module, in build/packages
#   make docs     the documentation as a site, in build/docs/html
#   make wheel    the Python module with all it needs but numpy, in build/wheels
#   make format, make setup, make clean

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

.PHONY: build run test test-cluster asan soak reproduce bench setup format install package wheel docs clean

build:
	@tools/setup build viewer
	@cmake --preset release > /dev/null
	@cmake --build --preset release --target product -j $(JOBS)

run: build
	build/bin/kreisel run heavy-top --out results/heavy-top
	@echo Plots and animation, to open in a browser:
	build/bin/kreisel view results/heavy-top --html results/heavy-top/report.html

test:
	@tools/setup build viewer viewer-test test python package docs
	@tools/setup fuzz || echo "make: the fuzz tests are skipped" >&2
	@cmake --preset release > /dev/null
	@cmake --build --preset release -j $(JOBS)
	ctest --preset release -j $(JOBS)

test-cluster:
	@tools/setup build viewer python cluster
	@cmake --preset release > /dev/null
	@cmake --build --preset release --target product kreisel_python -j $(JOBS)
	PYTHONPATH=build/python PYTHONDONTWRITEBYTECODE=1 KREISEL_PROGRAM=$(CURDIR)/build/bin/kreisel /usr/bin/python3 tests/cluster/test_cluster.py

asan:
	@tools/setup build viewer test fuzz
	@cmake --preset asan > /dev/null
	@cmake --build --preset asan -j $(JOBS)
	ctest --preset asan -j $(JOBS)

soak:
	@tools/setup build test
	@tools/setup fuzz || echo "make: the fuzz tests are skipped" >&2
	@cmake --preset release > /dev/null
	@cmake --build --preset release -j $(JOBS)
	ctest --preset soak -j $(JOBS)

reproduce: build
	build/bin/kreisel reproduce --all --mutations --jobs $(JOBS)

bench:
	@tools/setup build test bench python
	@cmake --preset bench > /dev/null
	@cmake --build --preset bench -j $(JOBS)
	bench/run

setup:
	@tools/setup build viewer viewer-test test python package docs

format:
	@tools/setup format
	@tools/check_format --fix

install:
	@tools/setup build viewer
	@cmake --preset release > /dev/null
	@cmake --build --preset release --target installable -j $(JOBS)
	cmake --install build --prefix $(PREFIX)

package:
	@tools/setup build viewer python package
	@cmake --preset release > /dev/null
	@cmake --build --preset release --target installable -j $(JOBS)
	cd build && cpack -G DEB -B packages

wheel:
	@tools/setup build viewer python package
	@cmake --preset release > /dev/null
	@cmake --build --preset release --target kreisel_python -j $(JOBS)
	tools/wheel build build/wheels

docs:
	@tools/setup build viewer python docs
	@cmake --preset release > /dev/null
	@cmake --build --preset release --target product kreisel_python -j $(JOBS)
	tools/docs build

clean:
	rm -rf build
