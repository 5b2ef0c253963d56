/** The forms in which a client can request the secrets of a record. Source: agent-server-wire.md 8.1; interface.md, SecretRegistry. */
import type { Fernet } from './fernet.ts'
import type { Json } from './json.ts'
import { isSecretName, replaceSecrets } from './secret-members.ts'
import { SERVER_CREDENTIAL } from './server-credential.ts'

/** `hidden`: masked or absent. `encrypted`: tokens that only this server can decrypt. `plain`: unchanged. */
export type Exposure = 'hidden' | 'encrypted' | 'plain'

/** A copy of an unsealed record as an administrator may read it. The key of the server is not part of the record, so it shows none. */
export const plainSecrets = (record: Json): Json =>
  replaceSecrets(record, (text) => (text === SERVER_CREDENTIAL ? null : text))

/** A copy of an unsealed record in which every secret text is a token. Empty texts and headers without a secret stay unchanged. */
export function encryptSecrets(record: Json, fernet: Pick<Fernet, 'encrypt'>): Json {
  return replaceSecrets(record, (text, place, name) => {
    if (text === SERVER_CREDENTIAL) return null
    const isOpen = text === '' || (place === 'lookup_header' && !isSecretName(name))
    return isOpen ? text : fernet.encrypt(text)
  })
}
