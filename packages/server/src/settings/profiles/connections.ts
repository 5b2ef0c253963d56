/** Keys and addresses of model providers that several profiles share. Sources: agent-server-wire.md 1.13; agent-core.md 12.5. */
import { randomUUID } from 'node:crypto'
import {
  ParleyError,
  type ProviderConnectionCreateRequest,
  type ProviderConnectionResponse,
  type ProviderConnectionUpdateRequest,
} from '@parley/protocol'
import type { Cipher } from '../../secrets/index.ts'
import type { DocumentStore } from '../../storage/index.ts'
import { isObject } from '../merge.ts'
import { decrypted, type UserSettings } from '../settings.ts'
import { asJson } from '../stored.ts'
import {
  type Connection,
  CONNECTIONS,
  expectRoom,
  LLM_PROFILES,
  MAX_CONNECTIONS,
  readConnection,
  readLlm,
  sealed,
} from './documents.ts'

export interface ProviderConnections {
  /** Sorted by display name. */
  list(user: string): Promise<ProviderConnectionResponse[]>
  /** @throws ParleyError `conflict` beyond the limit. */
  create(user: string, request: ProviderConnectionCreateRequest): Promise<ProviderConnectionResponse>
  /** @throws ParleyError `not_found`. */
  update(user: string, id: string, change: ProviderConnectionUpdateRequest): Promise<ProviderConnectionResponse>
  /** @throws ParleyError `not_found`, `conflict` naming the profiles, or the settings, that use it. */
  delete(user: string, id: string): Promise<ProviderConnectionResponse>
}

export function openProviderConnections(
  documents: DocumentStore,
  settings: Pick<UserSettings, 'current'>,
  cipher: Cipher,
  now: () => Date,
): ProviderConnections {
  const seconds = () => Math.floor(now().getTime() / 1000)
  return {
    async list(user) {
      const rows = await documents.list(user, CONNECTIONS)
      const all = rows.map((row) => readConnection(row, cipher))
      return all.toSorted((a, b) => (`${a.display_name}\0${a.id}` < `${b.display_name}\0${b.id}` ? -1 : 1)).map(shown)
    },

    async create(user, request) {
      const fields = decrypted(asJson(request), cipher.tokensOf(user)) as ProviderConnectionCreateRequest
      const at = seconds()
      const connection: Connection = { ...fields, id: randomUUID(), created_at: at, updated_at: at }
      await documents.edit(user, (edit) => {
        expectRoom(edit, CONNECTIONS, MAX_CONNECTIONS, 'provider connections')
        edit.put(CONNECTIONS, connection.id, sealed(connection, cipher))
      })
      return shown(connection)
    },

    async update(user, id, change) {
      const fields = decrypted(asJson(change), cipher.tokensOf(user)) as Partial<Connection>
      return documents.edit(user, (edit) => {
        const row = edit.get(CONNECTIONS, id)
        if (row === null) throw unknown(id)
        const connection = { ...readConnection(row, cipher), ...fields, updated_at: seconds() }
        edit.put(CONNECTIONS, id, sealed(connection, cipher))
        return shown(connection)
      })
    },

    async delete(user, id) {
      const { agents } = await settings.current(user)
      const isActive = Object.values(agents).some(({ llm }) => isObject(llm) && llm.provider_connection_id === id)
      return documents.edit(user, (edit) => {
        const row = edit.get(CONNECTIONS, id)
        if (row === null) throw unknown(id)
        const users = edit
          .list(LLM_PROFILES)
          .filter((profile) => readLlm(profile, cipher).provider_connection_id === id)
          .map(({ name }) => `'${name}'`)
        if (users.length > 0)
          throw new ParleyError('conflict', `This connection is used by the profiles ${users.join(', ')}.`)
        if (isActive)
          throw new ParleyError(
            'conflict',
            'This connection is used by the settings. Choose another model there first.',
          )
        edit.delete(CONNECTIONS, id)
        return shown(readConnection(row, cipher))
      })
    },
  }
}

const unknown = (id: string) => new ParleyError('not_found', `Provider connection '${id}' not found`)

const shown = ({ api_key, ...fields }: Connection): ProviderConnectionResponse => ({
  ...fields,
  api_key_set: api_key !== '',
})
