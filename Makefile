# The two commands a newcomer needs are `make demo` and `make test`; each does all that comes before it.
PRESET ?= release
BUILD  := build/$(PRESET)
JOBS   ?= $(shell nproc)
# How many tests run at once: more than there are cores, because most of them wait for something.
TESTS_AT_ONCE ?= $(shell expr $(JOBS) + 2)
SUDO   := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# Distribution packages (Debian 12 and newer, Ubuntu 24.04 and newer).
PACKAGES := g++ cmake make git pkg-config openmpi-bin libopenmpi-dev libhdf5-dev libpng-dev libhwloc-dev \
            libcli11-dev libfmt-dev libspdlog-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev libucx-dev \
            libpcre2-dev libutf8proc-dev libstb-dev fonts-dejavu-core libboost-dev libssl-dev
TEST_PACKAGES := curl libgtest-dev python3-h5py python3-xarray python3-h5netcdf python3-jsonschema python3-venv \
  python3-mpmath python3-gmpy2
# A browser for the tests of the web page (100 MB). Ubuntu's is a snap, which cannot be controlled from outside: the tests are
# left out there.
TEST_PACKAGES += $(shell . /etc/os-release && [ "$$ID" = debian ] && echo chromium-shell)
# For the tests on a rack of namespace nodes, with ssh and Slurm of its own. CLUSTER=no leaves these out: the tests that
# need them are then skipped.
CLUSTER ?= yes
CLUSTER_PACKAGES := iproute2 nftables iputils-ping openssh-client openssh-server slurm-wlm munge
# For `make sm70`: the newest host compiler that CUDA 12.4 accepts, and the keys of Debian's archive, where CUDA comes from.
SM70_PACKAGES := g++-12 debian-archive-keyring python3

# Open MPI refuses to run as root unless told that it is meant (containers).
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1
endif

.PHONY: help demo test deps build deb format cuda12 sm70
help:
	@echo 'make demo    the three-body map on 2 ranks -> results/seed_map.h5 and .png; a few lines by a small model'
	@echo 'make test    build and run all tests; CLUSTER=no: without installing Slurm and sshd for them'
	@echo 'make deps    install the distribution packages that are missing'
	@echo 'make build   configure and build $(BUILD)/voltpile; PRESET=debug or asan for the others'
	@echo 'make deb     build a Debian package of the program in $(BUILD)/package'
	@echo 'make format  clang-format all sources'
	@echo 'make sm70    compile the GPU code for V100 (sm_70) with CUDA 12.4; list registers and stack of every kernel'
	@echo '             and what bounds the hot ones, by calculation; make build PRESET=sm70: the whole program'

# The published map at 300 x 300 points: the full size takes minutes on two cores, this takes seconds. Then a few lines in
# the manner of the King James Bible.
demo: build
	mpirun -np 2 --oversubscribe $(BUILD)/voltpile run jobs/threebody/seed_map.toml \
	  --set sweep.x.count=300 --set sweep.y.count=300 --output results/seed_map.h5
	$(BUILD)/voltpile show results/seed_map.h5
	$(BUILD)/voltpile plot results/seed_map.h5 --output results/seed_map.png
	$(BUILD)/voltpile generate data/tiny_model/tiny-q8_0.gguf "And it came to pass" --max-tokens 100

test: deps
	$(call install,$(TEST_PACKAGES))
ifeq ($(CLUSTER),yes)
	$(call install,$(CLUSTER_PACKAGES))
endif
	@cmake --preset $(PRESET) -Wno-dev -DBUILD_TESTING=ON
	@cmake --build --preset $(PRESET) --parallel $(JOBS)
	ctest --test-dir $(BUILD) --output-on-failure --parallel $(TESTS_AT_ONCE)

build: deps $(if $(filter sm70,$(PRESET)),cuda12)
	@cmake --preset $(PRESET) -Wno-dev -DBUILD_TESTING=OFF
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target voltpile

# Installs by the distribution's own means, and only what is missing.
missing = $(shell for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done)
define install
	@missing="$(call missing,$(1))"; \
	if [ -n "$$missing" ]; then \
	  echo "installing:" $$missing; \
	  $(SUDO) apt-get update -qq && \
	  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >build-deps.log || \
	  { cat build-deps.log; exit 1; }; rm -f build-deps.log; \
	fi
endef

deps:
	@echo "needs: $(PACKAGES)"
	$(call install,$(PACKAGES))

deb: build
	$(call install,dpkg-dev file gzip)
	cd $(BUILD) && cpack -G DEB -B package

format:
	git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format -i

# CUDA 13 does not compile for V100. CUDA 12.4 is downloaded once into CUDA12; preset sm70 says how it is used.
CUDA12 := build/cuda12
SM70_OBJECTS = $$(cat build/sm70/gpu_objects.txt)
cuda12: deps
	$(call install,$(SM70_PACKAGES))
	tests/sm70/unpack_cuda12.sh $(CUDA12)

sm70: cuda12
	@cmake --preset sm70 -Wno-dev
	@cmake --build --preset sm70 --parallel $(JOBS) --target gpu_code
	tests/sm70/report_kernels.sh $(CUDA12)/bin/cuobjdump $(SM70_OBJECTS)
	@echo
	python3 -B tests/sm70/report_bounds.py $(CUDA12)/bin/cuobjdump $(SM70_OBJECTS)
