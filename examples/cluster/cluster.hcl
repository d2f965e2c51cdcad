# Six copies of a small web server, spread over the nodes, behind every node's proxy.
app "demo" "hello" {
  image    = "${HELLO_FOLDER}"
  command  = ["./hello"]
  replicas = 6
  ports    = ["8080"]
  host     = "hello.example"

  strategy {
    pause   = "100ms"
    monitor = "1s"
  }
}
