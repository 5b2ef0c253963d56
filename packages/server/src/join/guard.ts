/**
 * Joins the analyzers to the heart. An analyzer's configuration is part of a conversation's state and so of its log: what
 * can't be opened is refused before it is stored, and its secrets are sealed until it is asked.
 */
import type { SecurityAnalyzer } from '@parley/protocol'
import type { Heart } from '../conversation/index.ts'
import { sealRecord, unsealRecord, type Cipher } from '../secrets/index.ts'
import type { Analyze, AnalyzerDeps } from '../security/index.ts'

export type GuardDeps = AnalyzerDeps & { cipher: Cipher }

export type Guard = {
  analyze: Analyze
  /** The same heart, which takes no analyzer that could not be asked. Throws ParleyError `invalid_input` for one. */
  over(heart: Heart): Heart
}

/** With two parsers in it, so it is loaded for the first conversation that has an analyzer. */
const security = () => import('../security/index.ts')

export function openGuard(deps: GuardDeps): Guard {
  const { cipher } = deps
  let ask: Promise<Analyze> | undefined
  const opened = new WeakMap<SecurityAnalyzer, SecurityAnalyzer>()

  const taken = async (analyzer: SecurityAnalyzer): Promise<SecurityAnalyzer> => {
    const { openAnalyzer } = await security()
    openAnalyzer(analyzer, deps)
    return sealRecord(analyzer, cipher) as SecurityAnalyzer
  }
  return {
    async analyze(sealed, call, context, signal) {
      const record = opened.get(sealed) ?? (unsealRecord(sealed, cipher) as SecurityAnalyzer)
      opened.set(sealed, record)
      ask ??= security().then(({ openAnalyze }) => openAnalyze(deps))
      return (await ask)(record, call, context, signal)
    },
    over: (heart) => ({
      ...heart,
      async start(request, actor) {
        const { security_analyzer: analyzer } = request
        if (analyzer === null || analyzer === undefined) return heart.start(request, actor)
        return heart.start({ ...request, security_analyzer: await taken(analyzer) }, actor)
      },
      async send(id, command, actor) {
        if (command.kind !== 'set_security_analyzer' || command.analyzer === null) return heart.send(id, command, actor)
        return heart.send(id, { ...command, analyzer: await taken(command.analyzer) }, actor)
      },
    }),
  }
}
