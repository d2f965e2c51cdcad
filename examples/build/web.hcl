# A web server that is built from the folder beside this file:
#   tend apply -f examples/build/web.hcl
deployment "demo" "built" {
  build {
    context = "app"
  }
  replicas = 2
  ports    = ["8080"] # published on a free port of 127.0.0.1
}
