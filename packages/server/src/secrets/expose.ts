/** The forms in which a client can request the secrets of a record. Source: agent-server-wire.md 8.1; interface.md, SecretRegistry. */
import type { Json } from './json.ts'
import { isFernetToken } from './fernet.ts'
import { isSecretName, replaceSecrets } from './secret-members.ts'
import { SERVER_CREDENTIAL } from './server-credential.ts'
import { tokenKind, type UserTokens } from './tokens.ts'

/** `hidden`: masked or absent. `encrypted`: tokens that only this server can decrypt, for their user. `plain`: unchanged. */
export type Exposure = 'hidden' | 'encrypted' | 'plain'

/** A copy of an unsealed record as an administrator may read it. The key of the server is not part of the record, so it shows none. */
export const plainSecrets = (record: Json): Json =>
  replaceSecrets(record, (text) => (text === SERVER_CREDENTIAL ? null : text))

/** A copy of an unsealed record in which every secret text is a token. Empty texts and headers without a secret stay unchanged. */
export function encryptSecrets(record: Json, tokens: Pick<UserTokens, 'encrypt'>): Json {
  return replaceSecrets(record, (text, place, name, holder) => {
    if (text === SERVER_CREDENTIAL) return null
    const isOpen = text === '' || (place === 'lookup_header' && !isSecretName(name))
    return isOpen ? text : tokens.encrypt(text, tokenKind(place, name, holder))
  })
}

/**
 * A copy of a record in which every token of this user for the kind of its place is decrypted.
 * @param refuse throws for any other token; `isOwn`: it is one of this user for another kind of place. A variable or a header may
 * contain a token of another server, which is kept.
 */
export function openTokens(
  record: Json,
  tokens: UserTokens,
  refuse: (token: string, name: string, isOwn: boolean) => never,
): Json {
  return replaceSecrets(record, (text, place, name, holder) => {
    if (!isFernetToken(text)) return text
    const value = tokens.decrypt(text, tokenKind(place, name, holder))
    if (value !== null) return value
    const isOwn = tokens.kindOf(text) !== null
    const mayBeForeign = place === 'env' || place === 'header' || place === 'lookup_header' || place === 'named'
    return mayBeForeign && !isOwn ? text : refuse(text, name, isOwn)
  })
}
