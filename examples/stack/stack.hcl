# A web server with its database, migration, secret, TLS and a nightly report. docs/use/tutorial.md goes through it.

statefulset "shop" "db" {
  image   = "tend-stack:1"
  command = ["db"]
  ports   = ["5432"]

  volume_claim "data" {
    mount_path = "/data"
  }

  probes {
    readiness {
      tcp_socket { port = 5432 }
      period = "1s"
    }
  }
}

deployment "shop" "web" {
  image    = "tend-stack:${VERSION:-1}"
  command  = ["web"]
  replicas = 2
  env      = { DB = "${ref.statefulset.db.address}" } # DB_PASSWORD: tend config set shop DB_PASSWORD=-

  depends_on {
    workloads = ["statefulset/db"]
  }

  release {
    command = ["migrate"] # before any pod of a release starts
  }

  probes {
    readiness {
      http_get {
        path = "/ready"
        port = 8080
      }
      period = "1s"
    }
  }

  strategy {
    on_failure = "rollback"
  }
}

ingress "shop" "front" {
  host    = "shop.localhost"
  service = "web"
  port    = 8080
  tls { provider = "internal" } # the cluster's own authority
}

cronjob "shop" "report" {
  schedule = "0 3 * * *"
  image    = "tend-stack:${VERSION:-1}"
  command  = ["report"]
  env      = { DB = "${ref.statefulset.db.address}" }
}
