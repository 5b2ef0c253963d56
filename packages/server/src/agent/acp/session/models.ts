/** Models that a session reports, and the requests that switch to another. Pure. Source: agent-core.md 11.4. */
import { isRecord, type ACPModelInfo } from '@parley/protocol'

/** A request that changes the model. */
export type ModelSwitch = { method: string; params: Record<string, unknown> }

export type SessionModels = {
  /** Null: not reported. */
  current: string | null
  /** Null: not reported; an empty list means that there are none. */
  available: ACPModelInfo[] | null
  /** Id of the configuration option for the model; null: `session/set_model` is used. */
  option: string | null
}

type Loose = Record<string, unknown>
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** Reads the models from the result of a new, loaded or resumed session, or of a changed option. */
export function modelsOf(answer: Loose): SessionModels {
  const option = modelOption(answer['configOptions'])
  if (option !== null) return option
  const { models } = answer
  if (!isRecord(models)) return { current: null, available: null, option: null }
  const listed = models['availableModels']
  return {
    current: textOf(models['currentModelId']),
    available: Array.isArray(listed) ? usable(listed, 'modelId') : null,
    option: null,
  }
}

function modelOption(options: unknown): SessionModels | null {
  if (!Array.isArray(options)) return null
  const found = options.find(
    (option) => isRecord(option) && (option['category'] === 'model' || option['id'] === 'model'),
  )
  if (!isRecord(found)) return null
  const id = textOf(found['id'])
  if (id === null) return null
  const listed = Array.isArray(found['options']) ? (found['options'] as unknown[]) : []
  const flat = listed.flatMap((entry) =>
    isRecord(entry) && Array.isArray(entry['options']) ? (entry['options'] as unknown[]) : [entry],
  )
  return { current: textOf(found['currentValue']), available: usable(flat, 'value'), option: id }
}

/** The listed models; entries without an id are left out. */
function usable(entries: readonly unknown[], idName: string): ACPModelInfo[] {
  return entries.flatMap((entry) => {
    const model_id = isRecord(entry) ? textOf(entry[idName]) : null
    if (model_id === null) return []
    const { name, description } = entry as Loose
    return [{ model_id, name: textOf(name), description: textOf(description) }]
  })
}

const EFFORT = /^(.+)\/(low|medium|high|xhigh)$/

/** The requests that switch a session's model. `splitsEffort`: a trailing effort is an option of its own (codex). */
export function switchRequests(
  sessionId: string,
  model: string,
  option: string | null,
  splitsEffort: boolean,
): ModelSwitch[] {
  const [, base = model, effort] = splitsEffort ? (EFFORT.exec(model) ?? []) : []
  const one: ModelSwitch =
    option === null
      ? { method: 'session/set_model', params: { sessionId, modelId: base } }
      : { method: 'session/set_config_option', params: { sessionId, configId: option, value: base } }
  if (effort === undefined) return [one]
  return [
    one,
    { method: 'session/set_config_option', params: { sessionId, configId: 'reasoning_effort', value: effort } },
  ]
}
