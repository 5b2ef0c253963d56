/** Creates the model object of a provider's library, which is imported only when a configuration needs it. */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { LLM } from '@parley/protocol'
import type { Remote } from '../models/route.ts'
import { readChatReasoning } from './chat-reasoning.ts'
import { withCompletedCalls } from './custom-call-end.ts'
import type { Fetch } from './transport.ts'

/** Sent to a server that needs no key; without it, the libraries would read one from the environment. */
const NO_KEY = 'none'

type Body = Record<string, unknown>

/** Creates one object per configuration, to be kept. All its requests use `fetch`. */
export async function loadModel(config: LLM, route: Remote, fetch: Fetch): Promise<LanguageModelV4> {
  const { modelId, baseUrl: baseURL } = route
  const apiKey = route.apiKey ?? NO_KEY
  switch (route.api) {
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return createAnthropic({ baseURL, apiKey, fetch: withExtraBody(fetch, config) })(modelId)
    }
    case 'google': {
      const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
      return createGoogleGenerativeAI({ baseURL, apiKey, fetch: withExtraBody(fetch, config) })(modelId)
    }
    case 'responses': {
      const { createOpenAI } = await import('@ai-sdk/openai')
      const own = withExtraBody(sealing(withCompletedCalls(forAzure(fetch, route)), config), config)
      return createOpenAI({ baseURL, apiKey, fetch: own }).responses(modelId)
    }
    case 'chat': {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return createOpenAI({ baseURL, apiKey, fetch: withExtraBody(forAzure(fetch, route), config) }).chat(modelId)
    }
    case 'compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const key = route.apiKey === null ? {} : { apiKey }
      return createOpenAICompatible({
        name: 'openaiCompatible',
        baseURL,
        ...key,
        fetch,
        includeUsage: true,
        transformRequestBody: markParts,
        metadataExtractor: {
          extractMetadata: () => Promise.resolve(undefined),
          createStreamExtractor: readChatReasoning,
        },
      })(modelId)
    }
  }
}

/** Azure takes the key in a header of its own, and would take another one for a login. Source: docs/models.md, Azure. */
function forAzure(fetch: Fetch, { azure, apiKey }: Remote): Fetch {
  if (azure === undefined || apiKey === null) return fetch
  return (input, init) => {
    const url = new URL(input as string)
    if (azure.version !== null) url.searchParams.set('api-version', azure.version)
    const sent = Object.entries((init?.headers ?? {}) as Record<string, string>)
    const kept = sent.filter(([name]) => name.toLowerCase() !== 'authorization')
    return fetch(url.href, { ...init, headers: { ...Object.fromEntries(kept), 'api-key': apiKey } })
  }
}

/** Merges `litellm_extra_body` into the body, for libraries that do not accept unknown members. */
function withExtraBody(fetch: Fetch, { litellm_extra_body: extra }: LLM): Fetch {
  if (Object.keys(extra).length === 0) return fetch
  return (input, init) => {
    const body = { ...(JSON.parse(init?.body as string) as Body), ...extra }
    return fetch(input, { ...init, body: JSON.stringify(body) })
  }
}

/** The library requests encrypted reasoning by itself whenever nothing is to be stored at the provider. */
function sealing(fetch: Fetch, { enable_encrypted_reasoning }: LLM): Fetch {
  if (enable_encrypted_reasoning) return fetch
  return (input, init) => {
    const { include, ...body } = JSON.parse(init?.body as string) as Body
    const kept = (include as string[] | undefined)?.filter((item) => item !== 'reasoning.encrypted_content') ?? []
    return fetch(input, { ...init, body: JSON.stringify(kept.length === 0 ? body : { ...body, include: kept }) })
  }
}

/** A cache breakpoint belongs on a content part; the library can only put it beside text content. */
function markParts(body: Body): Body {
  const messages = body.messages as Body[]
  if (!messages.some((message) => message.cache_control !== undefined)) return body
  return { ...body, messages: messages.map(markPart) }
}

function markPart(message: Body): Body {
  const { cache_control, content, ...rest } = message
  const movable = cache_control !== undefined && typeof content === 'string' && message.role !== 'tool'
  return movable ? { ...rest, content: [{ type: 'text', text: content, cache_control }] } : message
}
