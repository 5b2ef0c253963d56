/**
 * The statements of the interface document and Parley's answers to questions that it leaves open, one entry each.
 * Tests cite the entries that they prove with `verifies([...ids], name, fn)`; `requirements.test.ts` compares both.
 */
import * as agents from './requirements/agents.ts'
import * as analyzers from './requirements/analyzers.ts'
import * as conversationInfo from './requirements/conversation-info.ts'
import * as design from './requirements/design.ts'
import * as endpoints from './requirements/endpoints.ts'
import * as limits from './requirements/limits.ts'
import * as metricsSecretsHooks from './requirements/metrics-secrets-hooks.ts'
import type { Requirement } from './requirements/requirement.ts'
import * as service from './requirements/service.ts'
import * as settings from './requirements/settings.ts'
import * as workspacesAndPolicies from './requirements/workspaces-and-policies.ts'

const sections: readonly Record<string, readonly Requirement[]>[] = [
  service,
  conversationInfo,
  workspacesAndPolicies,
  analyzers,
  metricsSecretsHooks,
  agents,
  settings,
  endpoints,
  limits,
  design,
]

export const requirements: readonly Requirement[] = sections.flatMap((section) => Object.values(section).flat())
