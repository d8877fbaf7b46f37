"""What the tests are made of: an oracle, streams, drawings and the runtimes a claim runs on."""
