/** A classifier on another server that predicts whether a result will do. Source: agent-core.md 3.3. */
import type { Critic as CriticRecord, CriticResult } from '@parley/protocol'
import { z } from 'zod'
import { backoffMs, sleep } from '../../lib/index.ts'
import type { Critic, Evidence } from './critic.ts'
import { transcript } from './transcript.ts'

type Record = Extract<CriticRecord, { kind: 'APIBasedCritic' }>

const ATTEMPTS = 3
const WAIT = { baseMs: 1000, maxMs: 8000 }
const DEFAULT_TIMEOUT_SECONDS = 300
const MAX_TIMEOUT_SECONDS = 600
/** More than any answer of this kind has. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024
/** A label that is less likely than this is not mentioned. */
const LEAST_SHOWN = 0.2

const Answer = z.looseObject({ data: z.array(z.looseObject({ probs: z.array(z.number()) })).min(1) })

/** Members that the record may carry; its lists say what the numbers of an answer mean. */
const Own = z.looseObject({
  pass_tools_definitions: z.boolean().catch(true),
  timeout_seconds: z.number().positive().catch(DEFAULT_TIMEOUT_SECONDS),
  has_success_label: z.boolean().catch(true),
  sentiment_labels: z.array(z.string()).catch([]),
  agent_issue_labels: z.array(z.string()).catch([]),
  infra_labels: z.array(z.string()).catch([]),
  user_followup_labels: z.array(z.string()).catch([]),
})
type Own = z.infer<typeof Own>

/** Labels above the threshold for being mentioned, likeliest first. */
export type Predicted = { label: string; probability: number }[]

/** Starts nothing. The key goes to the address of the record and nowhere else. */
export function apiBasedCritic(record: Record, wait = sleep): Critic {
  const own = Own.parse(record)
  return {
    async evaluate({ history, judged, tools }: Evidence, signal) {
      if (record.api_key === null || record.api_key === '') throw new Error('the critic has no api_key')
      const input = transcript(history, judged, own.pass_tools_definitions ? tools : null)
      const body = JSON.stringify({ model: record.model_name, input })
      for (let attempt = 1; ; attempt++) {
        const response = await post(record, record.api_key, body, own, signal)
        if (response.status === 200)
          return resultOf(Answer.parse(JSON.parse(await textWithin(response))).data[0]!.probs, own)
        await response.body?.cancel()
        // Anything else than a failure of the server itself would be answered in the same way again.
        if (response.status !== 500 || attempt >= ATTEMPTS)
          throw new Error(`the critic's server answered with ${response.status}`)
        await wait(Math.max(WAIT.baseMs, backoffMs(WAIT, attempt)), signal)
      }
    },
  }
}

function post({ server_url }: Record, key: string, body: string, own: Own, signal: AbortSignal): Promise<Response> {
  const timeoutMs = Math.min(own.timeout_seconds, MAX_TIMEOUT_SECONDS) * 1000
  return fetch(`${server_url.replace(/\/+$/, '')}/classify`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  })
}

async function textWithin(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) throw new Error("the critic's answer is too long")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/**
 * Probabilities in a fixed order: success, then the lists of the record one after the other.
 * @throws Error when there are more or fewer than the record names labels; without lists only success is read.
 */
export function resultOf(probabilities: readonly number[], own: Own): CriticResult {
  const lists = [own.sentiment_labels, own.agent_issue_labels, own.infra_labels, own.user_followup_labels]
  const labels = [...(own.has_success_label ? ['success'] : []), ...lists.flat()]
  const isNamed = lists.some((list) => list.length > 0)
  if (isNamed && labels.length !== probabilities.length)
    throw new Error(`the critic answered with ${probabilities.length} numbers for ${labels.length} labels`)
  const [success] = probabilities
  if (!own.has_success_label || success === undefined) throw new Error('the critic does not predict success')
  const of = (names: readonly string[]): Predicted =>
    names
      .map((label) => ({ label, probability: probabilities[labels.indexOf(label)]! }))
      .filter(({ probability }) => probability >= LEAST_SHOWN)
      .toSorted((a, b) => b.probability - a.probability)
  const metadata = {
    agent_issues: of(own.agent_issue_labels),
    infrastructure: of(own.infra_labels),
    user_followups: of(own.user_followup_labels),
    sentiment: softmax(own.sentiment_labels, probabilities, labels),
  }
  const score = Math.min(1, Math.max(0, success))
  return { score, message: `The predicted chance of success is ${Math.round(score * 100)} %.`, metadata }
}

/** The labels exclude each other, so they share one. */
function softmax(names: readonly string[], probabilities: readonly number[], labels: readonly string[]): Predicted {
  const weights = names.map((label) => Math.exp(probabilities[labels.indexOf(label)]!))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return names.map((label, at) => ({ label, probability: weights[at]! / sum }))
}
