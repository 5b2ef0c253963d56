/** LLM profiles. Source: agent-server-wire.md 1.11. */
import {
  activateProfile,
  deleteProfile,
  getProfile,
  listProfiles,
  LLM,
  renameProfile,
  saveProfile,
  validateProfile,
} from '@parley/protocol'
import type { ProbeResult } from '../../llm/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Quotas } from '../../quotas/index.ts'
import { HIDDEN } from '../../secrets/index.ts'
import type { LlmProfiles } from '../../settings/index.ts'
import { ok, route } from '../core/route.ts'
import { read } from '../input/validation.ts'
import type { Route } from '../core/web.ts'
import { exposureOf } from './settings.ts'

export type ProfileDeps = {
  profiles: LlmProfiles
  /** Requests one token from a model. */
  probe: (llm: LLM, signal: AbortSignal) => Promise<ProbeResult>
  /** The record with the stored key of the user. */
  withStoredKey: (user: string, llm: LLM) => Promise<LLM>
  quotas: Pick<Quotas, 'expectMoney'>
  log: Pick<Log, 'warn'>
}

export function profileRoutes({ profiles, probe, withStoredKey, quotas, log }: ProfileDeps): Route[] {
  return [
    route(listProfiles, async (_call, { user }) => ok(listProfiles, await profiles.list(user))),
    route(getProfile, async ({ params, headers }, actor) => {
      const exposure = exposureOf(headers, actor)
      if (exposure === 'plain')
        log.warn(
          { user: actor.user, key_id: actor.keyId, profile: params.name },
          'profile returned with secrets in clear text',
        )
      return ok(getProfile, await profiles.get(actor.user, bare(params.name), exposure))
    }),
    route(saveProfile, async ({ params, body }, { user }) => {
      const name = bare(params.name)
      await profiles.save(user, name, body)
      return ok(saveProfile, { name, message: `Profile '${name}' saved` })
    }),
    route(deleteProfile, async ({ params }, { user }) => {
      const name = bare(params.name)
      await profiles.delete(user, name)
      return ok(deleteProfile, { name, message: `Profile '${name}' deleted` })
    }),
    route(validateProfile, async ({ body, callerSignal }, { user }) => {
      const llm = read(LLM, body.llm, ['llm'])
      if (llm.value !== undefined) {
        await quotas.expectMoney(user)
        const tried = body.llm['api_key'] === HIDDEN ? await withStoredKey(user, llm.value) : llm.value
        const { error = null, unconfirmed } = await probe(tried, callerSignal())
        return ok(validateProfile, { valid: error === null, error, ...(unconfirmed && { unconfirmed }) })
      }
      const message = llm.entries.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ')
      return ok(validateProfile, { valid: false, error: { type: 'ValidationError', message } })
    }),
    route(renameProfile, async ({ params, body }, { user }) => {
      const name = bare(body.new_name)
      await profiles.rename(user, bare(params.name), name)
      return ok(renameProfile, { name, message: `Profile '${bare(params.name)}' renamed to '${name}'` })
    }),
    route(activateProfile, async ({ params }, { user }) => {
      const name = bare(params.name)
      await profiles.activate(user, name)
      return ok(activateProfile, { name, message: `Profile '${name}' activated`, llm_applied: true })
    }),
  ]
}

/** Clients may append a file extension to the name. Source: agent-core.md 12.5. */
export const bare = (name: string): string => (name.length > 5 ? name.replace(/\.json$/, '') : name)
