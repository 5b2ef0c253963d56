import { createHash } from 'node:crypto'

/** SHA-256, in hex, of `{"action":…,"tool_name":…}` as JSON with the members of every object in alphabetical order. */
export function callDigest({ tool_name, action }: { tool_name: unknown; action: unknown }): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted({ tool_name, action })))
    .digest('hex')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]))
}
