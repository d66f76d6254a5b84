# The program with its solvers, from the archive that `scripts/release` makes:
#   scripts/release && docker build -t threadproof . && docker run --rm -v "$PWD:/work" threadproof verify /work/program.tp
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends libstdc++6 && rm -rf /var/lib/apt/lists/*
ADD target/release-archive/threadproof-*-linux.tar.gz /opt/
RUN ln -s /opt/threadproof-*/threadproof /usr/local/bin/threadproof
WORKDIR /work
ENTRYPOINT ["threadproof"]
