/** The values in a record that have to be hidden wherever they turn up. Source: agent-core.md 7.2, F19. */
import type { Json } from './json.ts'
import { isSecretName, replaceSecrets, type SecretPlace } from './secret-members.ts'

const known = new WeakMap<object, readonly string[]>()

/**
 * Every secret text of an open record. Of environments and headers, which hold all sorts of things, only what goes by the
 * name of a secret or looks like one: hiding `production` or `application/json` everywhere would destroy ordinary text.
 * Remembered per object, which must not be changed afterwards.
 */
export function secretValues(record: object): readonly string[] {
  const before = known.get(record)
  if (before !== undefined) return before
  const values = new Set<string>()
  replaceSecrets(record as Json, (text, place, name) => {
    if (!isOrdinary(text, place, name)) for (const value of spellings(text)) values.add(value)
    return text
  })
  const found = [...values]
  known.set(record, found)
  return found
}

function isOrdinary(text: string, place: SecretPlace, name: string): boolean {
  switch (place) {
    case 'env':
    case 'header':
    case 'lookup_header':
      return !isSecretName(name) && /^(?:[^0-9]*|\/.*|\d{1,6}|\S{0,7})$/s.test(text)
    case 'field':
    case 'static':
    case 'named':
    case 'auth':
      return false
  }
}

/** As it stands, and without the word that says how a header is to be understood. */
function spellings(text: string): string[] {
  const token = /^(?:Bearer|Basic|Token|ApiKey) +(\S+)$/i.exec(text)?.[1]
  return token === undefined ? [text] : [text, token]
}
