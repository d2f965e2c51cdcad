# Three copies of a small web server, built from the folder HELLO_SOURCE names. It needs no Docker: on a node whose runtime
# is process, the node's own go builds it.
deployment "demo" "hello" {
  build {
    context = "${HELLO_SOURCE:-.}"
  }
  replicas = 3
  ports    = ["8080"] # published on a free port of 127.0.0.1

  strategy {
    pause   = "500ms" # between two slots
    monitor = "2s"    # a slot that ran this long without an exit is good
  }
}
