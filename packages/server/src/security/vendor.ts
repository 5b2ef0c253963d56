/** An external monitoring service that scores what the agent is about to do. Source: agent-core.md 4.9; F26; seed: Limits. */
import { ParleyError, VendorAnalyzer as VendorRecord, type SecurityRisk, type VendorAnalyzer } from '@parley/protocol'
import { assessed, type Analyzer } from './analyzer.ts'
import { vendorMessages } from './vendor-messages.ts'

/** What the service's own environment says; it goes before what a conversation says. */
export type VendorAccess = {
  apiKey: string | null
  policyId: string | null
  /** Where the key belongs; null: the vendor's own address. */
  apiUrl: string | null
}

export const NO_VENDOR_ACCESS: VendorAccess = { apiKey: null, policyId: null, apiUrl: null }

const DEFAULT_URL = VendorRecord.parse({}).api_url
/** More than any answer of this kind has. */
const MAX_ANSWER_BYTES = 1024 * 1024
const MAX_TIMEOUT_SECONDS = 600

/** @throws ParleyError `invalid_input` for an address that is none. */
export function openVendor(config: VendorAnalyzer, access: VendorAccess): Analyzer {
  const url = URL.parse(config.api_url)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ParleyError('invalid_input', 'api_url of the analyzer must be an http or https address.', {
      details: { member: 'api_url' },
    })
  }
  // The service's own key goes nowhere but where it belongs: a conversation may name any address.
  const isOwn = config.api_url === (access.apiUrl ?? DEFAULT_URL)
  const key = (isOwn ? access.apiKey : null) ?? config.api_key
  const policyId = (isOwn ? access.policyId : null) ?? config.policy_id
  const timeoutMs = Math.min(Math.max(config.timeout, 0.001), MAX_TIMEOUT_SECONDS) * 1000

  return {
    async assess(call, context, signal) {
      if (key === null || key === '') return assessed('UNKNOWN')
      const { messages, isCut } = vendorMessages(call, context, config)
      if (messages.length === 0) return assessed('UNKNOWN')
      const body = JSON.stringify({ messages, ...(policyId === null ? {} : { policy_id: policyId }) })
      const risk = riskOf(await ask(url, key, body, timeoutMs, signal), config)
      // Of a call that the monitor has seen in part it can't say that it is harmless.
      return assessed(isCut && risk !== 'HIGH' ? 'UNKNOWN' : risk)
    },
  }
}

/** The answer as JSON; undefined when there is none, whatever the reason. Rejects only with the signal's reason. */
async function ask(url: URL, key: string, body: string, timeoutMs: number, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted()
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
    const text = await readAtMost(response, MAX_ANSWER_BYTES)
    return response.status === 200 && text !== null ? JSON.parse(text) : undefined
  } catch {
    signal.throwIfAborted()
    // A monitor that is out of order has no opinion, and what it said instead may hold the key.
    return undefined
  }
}

async function readAtMost(response: Response, maxBytes: number): Promise<string | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function riskOf(answer: unknown, { low_threshold, medium_threshold }: VendorAnalyzer): SecurityRisk {
  if (typeof answer !== 'object' || answer === null) return 'UNKNOWN'
  // An indirect prompt injection outweighs the score.
  if ('ipi' in answer && answer.ipi === true) return 'HIGH'
  const violation = 'violation' in answer ? answer.violation : undefined
  if (typeof violation !== 'number' || !Number.isFinite(violation) || violation < 0) return 'UNKNOWN'
  if (violation <= low_threshold) return 'LOW'
  return violation <= medium_threshold ? 'MEDIUM' : 'HIGH'
}
