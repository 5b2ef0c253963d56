/** A critic that asks a classifier on another server how likely the result is to succeed. Source: agent-core.md 3.3. */
import type { Critic as CriticRecord, CriticResult } from '@parley/protocol'
import { z } from 'zod'
import type { Fetch } from '../../egress/index.ts'
import { backoffMs, sleep, timeoutSignal } from '../../lib/index.ts'
import { SERVER_CREDENTIAL } from '../../secrets/index.ts'
import type { Critic, CriticInput } from './critic.ts'
import { transcript } from './transcript.ts'

type Record = Extract<CriticRecord, { kind: 'APIBasedCritic' }>

const ATTEMPTS = 3
const WAIT = { baseMs: 1000, maxMs: 8000 }
const DEFAULT_TIMEOUT_SECONDS = 300
const MAX_TIMEOUT_SECONDS = 600
/** Far above the size of a real response. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024
/** Labels below this probability are left out of the result. */
const MIN_PROBABILITY = 0.2

const ClassifierResponse = z.looseObject({ data: z.array(z.looseObject({ probs: z.array(z.number()) })).min(1) })

/** Optional members of the record. The label lists give the probabilities of a response their meaning. */
const ClassifierOptions = z.looseObject({
  pass_tools_definitions: z.boolean().catch(true),
  timeout_seconds: z.number().positive().catch(DEFAULT_TIMEOUT_SECONDS),
  has_success_label: z.boolean().catch(true),
  sentiment_labels: z.array(z.string()).catch([]),
  agent_issue_labels: z.array(z.string()).catch([]),
  infra_labels: z.array(z.string()).catch([]),
  user_followup_labels: z.array(z.string()).catch([]),
})
type ClassifierOptions = z.infer<typeof ClassifierOptions>

export type PredictedLabel = { label: string; probability: number }

/** Starts nothing. The key is sent to the address in the record only; the model key of this server is for no critic. */
export function apiBasedCritic(record: Record, fetch: Fetch, wait = sleep): Critic {
  const options = ClassifierOptions.parse(record)
  return {
    async evaluate({ history, subject, tools }: CriticInput, signal) {
      if (record.api_key === null || record.api_key === '' || record.api_key === SERVER_CREDENTIAL)
        throw new Error('the critic has no api_key of its own')
      const input = transcript(history, subject, options.pass_tools_definitions ? tools : null)
      const body = JSON.stringify({ model: record.model_name, input })
      for (let attempt = 1; ; attempt++) {
        const response = await post(fetch, record, record.api_key, body, options, signal)
        if (response.status === 200)
          return resultOf(ClassifierResponse.parse(JSON.parse(await textWithin(response))).data[0]!.probs, options)
        await response.body?.cancel()
        // Other failures would repeat themselves.
        if (response.status !== 500 || attempt >= ATTEMPTS)
          throw new Error(`the critic's server answered with ${response.status}`)
        await wait(Math.max(WAIT.baseMs, backoffMs(WAIT, attempt)), signal)
      }
    },
  }
}

function post(
  fetch: Fetch,
  { server_url }: Record,
  key: string,
  body: string,
  options: ClassifierOptions,
  signal: AbortSignal,
): Promise<Response> {
  const timeoutMs = Math.min(options.timeout_seconds, MAX_TIMEOUT_SECONDS) * 1000
  return fetch(`${server_url.replace(/\/+$/, '')}/classify`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
    redirect: 'error',
    signal: AbortSignal.any([signal, timeoutSignal(timeoutMs)]),
  })
}

async function textWithin(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_RESPONSE_BYTES) throw new Error("the critic's answer is too long")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/**
 * Reads probabilities in a fixed order: success, then the label lists of the record one after the other. Without label lists,
 * only success is read.
 * @throws Error when the number of probabilities differs from the number of labels.
 */
function resultOf(probabilities: readonly number[], options: ClassifierOptions): CriticResult {
  const lists = [
    options.sentiment_labels,
    options.agent_issue_labels,
    options.infra_labels,
    options.user_followup_labels,
  ]
  const labels = [...(options.has_success_label ? ['success'] : []), ...lists.flat()]
  const isNamed = lists.some((list) => list.length > 0)
  if (isNamed && labels.length !== probabilities.length)
    throw new Error(`the critic answered with ${probabilities.length} numbers for ${labels.length} labels`)
  const [success] = probabilities
  if (!options.has_success_label || success === undefined) throw new Error('the critic does not predict success')
  /** Most likely first. */
  const of = (names: readonly string[]): PredictedLabel[] =>
    names
      .map((label) => ({ label, probability: probabilities[labels.indexOf(label)]! }))
      .filter(({ probability }) => probability >= MIN_PROBABILITY)
      .toSorted((a, b) => b.probability - a.probability)
  const metadata = {
    agent_issues: of(options.agent_issue_labels),
    infrastructure: of(options.infra_labels),
    user_followups: of(options.user_followup_labels),
    sentiment: softmax(options.sentiment_labels, probabilities, labels),
  }
  const score = Math.min(1, Math.max(0, success))
  return { score, message: `The predicted chance of success is ${Math.round(score * 100)} %.`, metadata }
}

/** These labels exclude each other, so their probabilities add up to 1. */
function softmax(
  names: readonly string[],
  probabilities: readonly number[],
  labels: readonly string[],
): PredictedLabel[] {
  const weights = names.map((label) => Math.exp(probabilities[labels.indexOf(label)]!))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return names.map((label, at) => ({ label, probability: weights[at]! / sum }))
}
