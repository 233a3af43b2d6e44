module equipoise.dev/tests/cluster/pause

go 1.26.0
