# Three copies of a small web server, replaced one at a time when this file changes. HELLO_IMAGE may also be a folder that
# holds the program hello: on a node whose runtime is process it needs no Docker.
deployment "demo" "hello" {
  image    = "${HELLO_IMAGE:-tend-hello:1}"
  command  = ["/hello"]
  replicas = 3
  ports    = ["8080"] # published on a free port of 127.0.0.1

  strategy {
    pause   = "500ms" # between two slots
    monitor = "2s"    # a slot that ran this long without an exit is good
  }
}
