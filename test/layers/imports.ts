/** Returns the imports of a source: static ones, types, re-exports, lazy ones, and those of CommonJS. */
import { literalText, nodesOf } from '../source-files.ts'

const importing = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
  'TSExternalModuleReference',
])

/** Specifiers in the order they stand. @throws Error for a lazy import whose specifier is not a literal. */
export function importsOf(path: string, text: string): string[] {
  return nodesOf(path, text).flatMap((node) => {
    const source = node.source ?? node.expression
    if (!importing.has(node.type) || source == null) return []
    const specifier = literalText(source)
    if (specifier === undefined) throw new Error(`${path}: an import wants its specifier as a string literal`)
    return [specifier]
  })
}
