# The program with its solvers, from the archive that `scripts/release` makes:
#   scripts/release && docker build -t threadproof . && docker run --rm -v "$PWD:/work" threadproof verify /work/program.tp
# For the other machine: scripts/release --machine aarch64, and docker build --build-arg MACHINE=aarch64 --platform linux/arm64.
FROM debian:13-slim
ARG MACHINE=x86_64
# What C programs with headers are read with (gcc), and what the solvers want (libstdc++6).
RUN apt-get update && apt-get install -y --no-install-recommends libstdc++6 gcc libc6-dev && rm -rf /var/lib/apt/lists/*
ADD target/release-archive/threadproof-*-${MACHINE}-linux.tar.gz /opt/
RUN ln -s /opt/threadproof-*-${MACHINE}-linux/threadproof /usr/local/bin/threadproof
WORKDIR /work
ENTRYPOINT ["threadproof"]
