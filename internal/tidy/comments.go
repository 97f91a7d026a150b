package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"iter"
)

// typeSpecs gives the types that a file declares at its top, each with its comment: its own, or that of the declaration
// when it stands alone in it.
func typeSpecs(f *ast.File) iter.Seq2[*ast.TypeSpec, *ast.CommentGroup] {
	return func(yield func(*ast.TypeSpec, *ast.CommentGroup) bool) {
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, s := range gen.Specs {
				spec := s.(*ast.TypeSpec)
				doc := spec.Doc
				if doc == nil && len(gen.Specs) == 1 {
					doc = gen.Doc
				}
				if !yield(spec, doc) {
					return
				}
			}
		}
	}
}

// comments finds exported names and packages without a comment.
func comments(_ House, _ Room, p *pkg) []Finding {
	var found []Finding
	code := p.production()
	documented := len(code) == 0
	for _, f := range code {
		documented = documented || said(f.syntax.Doc)
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				found = append(found, funcComment(f, d)...)
			case *ast.GenDecl:
				found = append(found, valueComments(f, d)...)
			}
		}
		for spec, doc := range typeSpecs(f.syntax) {
			found = append(found, typeComment(f, spec, doc)...)
		}
	}
	if !documented {
		found = append(found, whole(code[0], "pkgcomment",
			fmt.Sprintf("package %s has no comment: say what it is for, what it may import, and its nouns", p.dir)))
	}
	return found
}

// said says whether a comment holds words, not only directives.
func said(doc *ast.CommentGroup) bool { return doc != nil && doc.Text() != "" }

func missing(f *file, pos token.Pos, doc *ast.CommentGroup, name string) Finding {
	return f.on(pos, doc, "export", name+" has no comment: say what the caller gets and owes")
}

func funcComment(f *file, d *ast.FuncDecl) []Finding {
	if !d.Name.IsExported() || said(d.Doc) {
		return nil
	}
	name := d.Name.Name
	if d.Recv != nil {
		owner := receiver(d.Recv.List[0].Type)
		if !ast.IsExported(owner) {
			return nil
		}
		name = owner + "." + name
	}
	return []Finding{missing(f, d.Pos(), d.Doc, name)}
}

// receiver gives the name of a method's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.ParenExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// valueComments looks at constants and variables: the comment of the group will do.
func valueComments(f *file, d *ast.GenDecl) []Finding {
	if d.Tok != token.CONST && d.Tok != token.VAR || said(d.Doc) {
		return nil
	}
	var found []Finding
	for _, s := range d.Specs {
		spec := s.(*ast.ValueSpec)
		if said(spec.Doc) || said(spec.Comment) {
			continue
		}
		for _, name := range spec.Names {
			if name.IsExported() {
				found = append(found, missing(f, name.Pos(), nil, name.Name))
			}
		}
	}
	return found
}

// typeComment looks at a type and, in an exported interface, at its methods.
func typeComment(f *file, spec *ast.TypeSpec, doc *ast.CommentGroup) []Finding {
	if !spec.Name.IsExported() {
		return nil
	}
	var found []Finding
	if !said(doc) && !said(spec.Comment) {
		found = append(found, missing(f, spec.Pos(), doc, spec.Name.Name))
	}
	face, ok := spec.Type.(*ast.InterfaceType)
	if !ok || len(face.Methods.List) == 1 { // the comment of a type with one method is that of the method
		return found
	}
	for _, m := range face.Methods.List {
		if len(m.Names) > 0 && m.Names[0].IsExported() && !said(m.Doc) && !said(m.Comment) {
			found = append(found, missing(f, m.Pos(), m.Doc, spec.Name.Name+"."+m.Names[0].Name))
		}
	}
	return found
}
