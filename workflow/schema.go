package workflow

import "github.com/millrace-go/millrace/workflow/internal/format"

// Schema gives the JSON Schema (2020-12) of workflow files, for editors and other programs. It says what keys and types there
// are; what it lets through may still hold mistakes that [Read] finds, such as a step that does not exist.
func Schema() []byte { return format.Schema() }

// Reference gives the reference page of the format as Markdown.
func Reference() []byte { return format.Reference() }
