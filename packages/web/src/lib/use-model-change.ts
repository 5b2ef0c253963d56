import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { type ModelSettings, storeModel, type Trial, tryModel } from '../api/model.ts'
import { messageOf, ServerError } from '../api/server.ts'
import { conversationPath, ROUTES } from '../routes.ts'
import { announce } from '../ui/announce.tsx'
import { settings } from '../words/settings.en.ts'
import { useSearchParam } from './location.ts'
import { WRITE_NEXT } from './write-next.ts'

type Errors = { name?: string; address?: string; key?: string }
/** The members of the settings beside whose field a refusal is shown. */
const FIELDS = { llm_model: 'name', llm_base_url: 'address', llm_api_key: 'key' } as const
const NOTHING = { trial: null, problem: '', errors: {} as Errors }

/**
 * Tries a model and saves it. A model that did not answer is saved only by a second `save`, unless `forget` was called in between.
 * After saving, the page is left: for the conversation in the address, or for Home with the focus on the task.
 */
export function useModelChange() {
  const [state, setState] = useState<{ trial: Trial | null; problem: string; errors: Errors }>(NOTHING)
  const [doing, setDoing] = useState<'check' | 'save' | null>(null)
  const [conversation] = useSearchParam('conversation')
  const [, navigate] = useLocation()
  const client = useQueryClient()
  const { trial } = state
  const attempt = async (what: 'check' | 'save', action: () => Promise<void>): Promise<void> => {
    setDoing(what)
    await action().catch((error: unknown) => setState({ ...NOTHING, ...refusalOf(error) }))
    setDoing(null)
  }
  const check = async (wanted: ModelSettings): Promise<Trial> => {
    const shown = await tryModel(wanted)
    setState({ ...NOTHING, trial: shown })
    return shown
  }
  const save = async (wanted: ModelSettings): Promise<void> => {
    const { result } = trial ?? (await check(wanted))
    if (trial === null && result !== 'works') return
    await storeModel(wanted, conversation)
    announce(settings.model.saved)
    // What the pages show next depends on it.
    await Promise.all(
      [['me'], ['settings'], ['agent-profiles']].map((queryKey) => client.invalidateQueries({ queryKey })),
    )
    if (conversation === null) navigate(ROUTES.home, { state: WRITE_NEXT })
    else navigate(conversationPath(conversation))
  }
  return {
    ...state,
    doing,
    isBusy: doing !== null,
    hasFailed: trial !== null && trial.result !== 'works',
    forget: () => setState(NOTHING),
    check: (wanted: ModelSettings) => attempt('check', async () => void (await check(wanted))),
    save: (wanted: ModelSettings) => attempt('save', () => save(wanted)),
  }
}

/** A refusal beside the fields that it is about, or as a sentence. */
function refusalOf(error: unknown): { problem: string; errors: Errors } {
  const errors: Errors = {}
  const failures = error instanceof ServerError && Array.isArray(error.detail) ? error.detail : []
  for (const { loc, msg } of failures as { loc?: unknown[]; msg?: unknown }[]) {
    const field = FIELDS[String(loc?.at(-1)) as keyof typeof FIELDS]
    if (field !== undefined) errors[field] = String(msg).replace(/^Value error, /, '')
  }
  return { errors, problem: Object.keys(errors).length > 0 ? '' : messageOf(error) }
}
