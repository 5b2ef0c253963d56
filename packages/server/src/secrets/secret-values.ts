/** The values of a record that must be masked in any output. Source: agent-core.md 7.2, F19. */
import type { Json } from './json.ts'
import { isSecretName, replaceSecrets, type SecretPlace } from './secret-members.ts'
import { SERVER_CREDENTIAL } from './server-credential.ts'

const known = new WeakMap<object, readonly string[]>()

/**
 * Every secret text of an unsealed record. Of environments and headers, only values with the name or the form of a secret count:
 * masking `production` or `application/json` everywhere would destroy ordinary text. The result is cached per object, which must
 * not change afterwards.
 */
export function secretValues(record: object): readonly string[] {
  const before = known.get(record)
  if (before !== undefined) return before
  const values = new Set<string>()
  replaceSecrets(record as Json, (text, place, name) => {
    if (text !== SERVER_CREDENTIAL && !isOrdinary(text, place, name))
      for (const value of spellings(text)) values.add(value)
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
      return !isSecretName(name) && /^(?:[^0-9]*|\/.*|\S{0,7})$/s.test(text)
    case 'field':
    case 'static':
    case 'named':
    case 'auth':
      return false
  }
}

/** The value, and the value without the scheme of an authorization header. */
function spellings(text: string): string[] {
  const token = /^(?:Bearer|Basic|Token|ApiKey) +(\S+)$/i.exec(text)?.[1]
  return token === undefined ? [text] : [text, token]
}
