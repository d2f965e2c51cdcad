package apiclient

import _ "github.com/oapi-codegen/runtime" // what it generates imports it
