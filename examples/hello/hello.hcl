# Three copies of a small web server, replaced one at a time when this file changes.
deployment "demo" "hello" {
  image    = "${HELLO_IMAGE:-tend-hello:1}"
  replicas = 3
  ports    = ["8080"] # published on a free port of 127.0.0.1

  strategy {
    pause   = "500ms" # between two slots
    monitor = "2s"    # a slot that ran this long without an exit is good
  }
}
