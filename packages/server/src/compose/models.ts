/** Composes the models of the engine, with what each conversation adds to them. */
import type { LLM } from '@parley/protocol'
import type { Config } from '../config/index.ts'
import { modelRetry, smallWindow, type ModelUser } from '../conversation/index.ts'
import {
  openLlm,
  withFallbacks,
  withKnownPrice,
  withUsersModel,
  type ModelRetry,
  type OpenLlm,
  type Transport,
} from '../llm/index.ts'
import type { Log } from '../observability/index.ts'
import { isListed } from '../quotas/index.ts'
import { conversationDefaults, type FindLlm, type UserSettings } from '../settings/index.ts'
import { scriptsIn, type RootsOf } from '../workspace/index.ts'

export type ComposeModelsDeps = {
  config: Config
  roots: RootsOf
  transport: Transport
  settings: UserSettings
  findLlm: FindLlm
  log: Log
}

export function composeModels({ config, roots, transport, settings, findLlm, log }: ComposeModelsDeps) {
  const models = { transport, ...scriptsIn(config.dataDir, roots) }
  const warn = ({ model, usage_id }: LLM, { attempt, waitSeconds, error: { code } }: ModelRetry, of: object = {}) =>
    log.warn(
      { ...of, model, usage_id, attempt, wait_seconds: waitSeconds, code },
      'request to a model will be repeated',
    )
  const open: OpenLlm = (record) => openLlm(record, { ...models, onRetry: (retry) => warn(record, retry) })
  const usersModel = async (owner: string) => conversationDefaults(await settings.current(owner), config).llm
  const pricing = { serverKey: transport.serverKey, isShared: config.mode === 'shared' }

  /** Models of an agent and of hooks: their retries are events, and their costs are limited. */
  const openLlmOf = ({ id, owner, hasBudget, note, logCompletion }: ModelUser): OpenLlm => {
    const hasMonthlyLimit = isListed(config.userLimits, owner, 'monthly_cost_usd')
    let isWarned = false
    const noted: OpenLlm = (record) => {
      const onRetry = (retry: ModelRetry) => {
        warn(record, retry, { conversation_id: id })
        note([modelRetry(record, retry)])
      }
      const onSmallWindow = (window: number) => {
        if (isWarned) return
        isWarned = true
        note([smallWindow(record.model, window)])
      }
      return openLlm(record, { ...models, onRetry, onSmallWindow, onCompletion: logCompletion })
    }
    const priced = withKnownPrice(noted, { ...pricing, hasBudget, hasMonthlyLimit })
    return withFallbacks(
      withUsersModel(priced, () => usersModel(owner)),
      { find: (name) => findLlm(owner, name), log },
    )
  }
  return { open, openLlmOf, usersModel }
}
