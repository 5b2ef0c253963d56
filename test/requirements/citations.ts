/** Requirement ids that tests cite, compared with the requirements and the pending list. */
import { literalText, nodesOf } from '../source-files.ts'

export type Citation = { readonly id: string; readonly file: string }

/** Ids that `verifies(…)` calls of a test file cite. @throws Error when an id is not written as a literal. */
export function citationsIn(file: string, text: string): Citation[] {
  if (!text.includes('verifies(')) return []
  return nodesOf(file, text)
    .filter((node) => node.type === 'CallExpression' && (node.callee as { name?: string }).name === 'verifies')
    .flatMap((call) => {
      const [ids] = call.arguments as [({ type: string; elements?: unknown[] } | undefined)?]
      const listed = ids?.type === 'ArrayExpression' ? (ids.elements ?? []) : [ids]
      return listed.map((node) => {
        const id = literalText(node)
        if (id === undefined) throw new Error(`${file}: verifies() needs its ids as string literals`)
        return { id, file }
      })
    })
}

export type Account = {
  /** One line per fault; empty when every id is either cited or pending. */
  readonly faults: readonly string[]
  readonly covered: number
  readonly pending: number
  readonly total: number
}

/** Compares requirements with citations and the pending list. Pure. */
export function account(required: readonly string[], cited: readonly Citation[], pending: readonly string[]): Account {
  const known = new Set(required)
  const proved = new Map(cited.map(({ id, file }) => [id, file]))
  const missing = new Set(pending)
  const faults = [
    ...twice(required).map((id) => `${id}: required twice`),
    ...twice(pending).map((id) => `${id}: pending twice`),
    ...[...proved]
      .filter(([id]) => !known.has(id))
      .map(([id, file]) => `${id}: cited by ${file}, but not a requirement`),
    ...[...missing].filter((id) => !known.has(id)).map((id) => `${id}: pending, but not a requirement`),
    ...[...missing]
      .filter((id) => proved.has(id))
      .map((id) => `${id}: cited by ${proved.get(id)}; take it out of test/pending.ts`),
    ...required
      .filter((id) => !proved.has(id) && !missing.has(id))
      .map((id) => `${id}: no test cites it, and it is not pending`),
  ]
  const covered = required.filter((id) => proved.has(id)).length
  return { faults, covered, pending: missing.size, total: required.length }
}

const twice = (ids: readonly string[]): string[] => ids.filter((id, at) => ids.indexOf(id) !== at)
