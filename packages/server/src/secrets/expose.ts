/** Secrets of a record as a reader may ask for them. Source: agent-server-wire.md 8.1; seed: SecretRegistry. */
import type { Fernet } from './fernet.ts'
import type { Json } from './json.ts'
import { isSecretName, replaceSecrets } from './secret-members.ts'

/** `hidden`: a mask, or nothing. `encrypted`: tokens that only this server opens again. `plain`: as they are. */
export type Exposure = 'hidden' | 'encrypted' | 'plain'

/** A copy of an open record in which every secret text is a token. An empty text, and a header without a secret, stay. */
export function encryptSecrets(record: Json, fernet: Pick<Fernet, 'encrypt'>): Json {
  return replaceSecrets(record, (text, place, name) => {
    const isOpen = text === '' || (place === 'lookup_header' && !isSecretName(name))
    return isOpen ? text : fernet.encrypt(text)
  })
}
