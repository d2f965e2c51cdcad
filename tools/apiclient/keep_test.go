package apiclient

import _ "github.com/oapi-codegen/runtime" // the generated code imports it
