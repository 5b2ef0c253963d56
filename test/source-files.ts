/** Finds and parses the sources of this repository, for tests about the sources. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'rolldown/utils'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Paths from the repository root, with forward slashes, sorted. */
export function sourceFiles(...patterns: string[]): string[] {
  return globSync(patterns, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] })
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted()
}

export const readSource = (path: string): string => readFileSync(root + path, 'utf8')

/** A node of a syntax tree, as far as the searches here need it. */
export type Node = { readonly type: string } & Readonly<Record<string, unknown>>

/** Every node of a TypeScript source, parents before children. @throws Error when it does not parse. */
export function nodesOf(path: string, text: string): Node[] {
  const { program, errors } = parseSync(path, text)
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`)
  const found: Node[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit)
    if (typeof value !== 'object' || value === null) return
    if ('type' in value && typeof value.type === 'string') found.push(value as Node)
    Object.values(value).forEach(visit)
  }
  visit(program)
  return found
}

/** The value of a string literal, or of a template without holes; undefined for everything else. */
export function literalText(node: unknown): string | undefined {
  const { type, value, quasis } = (node ?? {}) as {
    type?: string
    value?: unknown
    quasis?: { value: { cooked: string } }[]
  }
  if (type === 'Literal' && typeof value === 'string') return value
  if (type === 'TemplateLiteral' && quasis?.length === 1) return quasis[0]?.value.cooked
  return undefined
}
