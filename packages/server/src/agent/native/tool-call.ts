/** The way from a model's tool call to an action, or to an error the model can learn from. Pure. Source: agent-core.md 1.7. */
import { ParleyError, type Action, type MessageToolCall, type SecurityRisk } from '@parley/protocol'
import { z } from 'zod'
import type { Tool } from '../../tools/index.ts'
import { propertiesOf, RISK_FIELD, SUMMARY_FIELD } from '../../tools/index.ts'
import { inferEditorCommand, resolveName } from './aliases.ts'
import { type Arguments, parseArguments, repairArguments, tidyArguments } from './arguments.ts'

/** A call as the model made it. */
export type RawCall = { id: string; name: string; arguments: string }

/** A call that can be performed. */
export type PreparedCall = {
  kind: 'action'
  tool: Tool
  action: Action
  /** Normalised name and repaired arguments, the predicted fields included, so that it can be replayed. */
  toolCall: MessageToolCall
  /** The model's own estimate; UNKNOWN where it was not asked for one. */
  predictedRisk: SecurityRisk
  summary: string
}

/** A call that cannot; `error` is for the model and holds no argument value. */
export type InvalidCall = { kind: 'invalid'; toolCall: MessageToolCall; error: string }

/** What stands for arguments that were no JSON: providers refuse a replay of those. */
const UNPARSEABLE = JSON.stringify({ unparseable_arguments: true })
const MAX_SUMMARY_CHARS = 500
const RISKS = new Set<unknown>(['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH'] satisfies SecurityRisk[])

/** Prepares one call. `usesRisk`: a security analyzer is set, so the model's estimate counts. */
export function prepareCall(
  raw: RawCall,
  tools: ReadonlyMap<string, Tool>,
  options: { usesRisk: boolean },
): PreparedCall | InvalidCall {
  const parsed = parseArguments(raw.arguments)
  const { name, args: named } = resolveName({ name: raw.name, args: tidyArguments(parsed?.args ?? {}) }, (candidate) =>
    tools.has(candidate),
  )
  const store = (text: string): MessageToolCall => ({
    id: raw.id,
    responses_item_id: null,
    name,
    arguments: text,
    origin: 'completion',
  })
  const tool = tools.get(name)
  if (tool === undefined) {
    const toolCall = store(parsed === null ? UNPARSEABLE : JSON.stringify(named))
    return {
      kind: 'invalid',
      toolCall,
      error: `Tool '${name}' not found. Available: [${[...tools.keys()].join(', ')}]`,
    }
  }
  if (parsed === null) {
    return { kind: 'invalid', toolCall: store(UNPARSEABLE), error: invalid(name, 'unparseable JSON', null) }
  }
  const withCommand = name === 'file_editor' ? inferEditorCommand(named) : named
  if (withCommand === null) {
    const error = invalid(name, 'no command is given and none can be inferred from the other parameters', named)
    return { kind: 'invalid', toolCall: store(JSON.stringify(named)), error }
  }
  const args = repairArguments(withCommand, tool.parameters)
  const isUnchanged = parsed.isVerbatim && JSON.stringify(args) === JSON.stringify(parsed.args)
  const toolCall = store(isUnchanged ? raw.arguments : JSON.stringify(args))

  const { [RISK_FIELD]: risk, ...withoutRisk } = args
  const { [SUMMARY_FIELD]: summary, ...withoutSummary } = withoutRisk
  const own = SUMMARY_FIELD in propertiesOf(tool.parameters) ? withoutRisk : withoutSummary
  const predictedRisk = tool.isReadOnly || !options.usesRisk ? 'UNKNOWN' : readRisk(risk)
  if (predictedRisk === null) {
    const error = invalid(name, 'security_risk must be one of UNKNOWN, LOW, MEDIUM, HIGH', args)
    return { kind: 'invalid', toolCall, error }
  }
  try {
    const action = tool.parse(own)
    return { kind: 'action', tool, action, toolCall, predictedRisk, summary: summarize(name, summary, withoutSummary) }
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === null) throw error
    return { kind: 'invalid', toolCall, error: invalid(name, reason, args) }
  }
}

function readRisk(risk: unknown): SecurityRisk | null {
  if (risk === undefined) return 'UNKNOWN'
  const upper = typeof risk === 'string' ? risk.trim().toUpperCase() : risk
  return RISKS.has(upper) ? (upper as SecurityRisk) : null
}

function summarize(name: string, given: unknown, args: Arguments): string {
  if (typeof given === 'string' && given.trim() !== '') return given.trim()
  const text = `${name}: ${JSON.stringify(args)}`
  return text.length <= MAX_SUMMARY_CHARS ? text : `${text.slice(0, MAX_SUMMARY_CHARS - 1)}…`
}

function invalid(name: string, reason: string, args: Arguments | null): string {
  const given = args === null ? '' : ` Parameters given: [${Object.keys(args).join(', ')}]`
  return `Error validating tool '${name}': ${reason}.${given}`
}

/** Why arguments were refused, without any value of them; null when the error is no refusal. */
function reasonOf(error: unknown): string | null {
  if (error instanceof z.ZodError) {
    return error.issues
      .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
      .join('; ')
  }
  return error instanceof ParleyError && error.code === 'invalid_input' ? error.message : null
}
