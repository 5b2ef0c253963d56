/** Analyzer that asks an external monitoring service for a score. Source: agent-core.md 4.9; F26; interface.md, Limits. */
import { invalidInput, type SecurityRisk, type VendorAnalyzer, VendorAnalyzer as VendorRecord } from '@parley/protocol'
import type { Fetch } from '../egress/index.ts'
import { timeoutSignal } from '../lib/index.ts'
import { SERVER_CREDENTIAL } from '../secrets/index.ts'
import { assessmentOf, type Analyzer } from './analyzer.ts'
import { vendorMessages } from './vendor-messages.ts'

/** Access from the service's environment variables; it has precedence over the conversation's configuration. */
export type VendorAccess = {
  apiKey: string | null
  policyId: string | null
  /** The address that the key is for; null: the vendor's default address. */
  apiUrl: string | null
}

/** How the monitoring service is requested. */
export type VendorDeps = { vendor: VendorAccess; fetchVendor: Fetch }

export const NO_VENDOR_ACCESS: VendorAccess = { apiKey: null, policyId: null, apiUrl: null }

const DEFAULT_URL = VendorRecord.parse({}).api_url
/** Longest accepted answer. */
const MAX_ANSWER_BYTES = 1024 * 1024
const MAX_TIMEOUT_SECONDS = 600

/** @throws ParleyError `invalid_input` for an invalid address. */
export function openVendor(config: VendorAnalyzer, { vendor: access, fetchVendor }: VendorDeps): Analyzer {
  const url = URL.parse(config.api_url)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw invalidInput('api_url of the analyzer must be an http or https address.', ['api_url'])
  }
  // The service's key is sent only to its own address, because a conversation may name any address.
  const isOwn = config.api_url === (access.apiUrl ?? DEFAULT_URL)
  const usersKey = config.api_key === SERVER_CREDENTIAL ? null : config.api_key
  const key = (isOwn ? access.apiKey : null) ?? usersKey
  const policyId = (isOwn ? access.policyId : null) ?? config.policy_id
  const timeoutMs = Math.min(Math.max(config.timeout, 0.001), MAX_TIMEOUT_SECONDS) * 1000

  return {
    async assess(call, context, signal) {
      if (key === null || key === '') return assessmentOf('UNKNOWN')
      const { messages, isCut } = vendorMessages(call, context, config)
      if (messages.length === 0) return assessmentOf('UNKNOWN')
      const body = JSON.stringify({ messages, ...(policyId === null ? {} : { policy_id: policyId }) })
      const risk = riskOf(await requestScore(fetchVendor, url, key, body, timeoutMs, signal), config)
      // A monitor that saw only part of the call cannot rule out danger.
      const rated = isCut && risk !== 'HIGH' ? 'UNKNOWN' : risk
      const text =
        rated === 'UNKNOWN'
          ? 'the monitoring service gave no score'
          : `the monitoring service rates the call as ${rated.toLowerCase()} risk`
      return rated === 'LOW' ? assessmentOf('LOW') : assessmentOf(rated, config.kind, { rule: null, text })
    },
  }
}

/** Returns the answer as JSON; undefined for any failure. Rejects only with the signal's reason. */
async function requestScore(
  fetch: Fetch,
  url: URL,
  key: string,
  body: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<unknown> {
  signal.throwIfAborted()
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.any([signal, timeoutSignal(timeoutMs)]),
    })
    const text = await readAtMost(response, MAX_ANSWER_BYTES)
    return response.status === 200 && text !== null ? JSON.parse(text) : undefined
  } catch {
    signal.throwIfAborted()
    // A failed request is not logged, because an error text may contain the key.
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
