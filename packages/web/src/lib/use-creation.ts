import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { useLocation } from 'wouter'
import { createConversation, type NewConversation } from '../api/create.ts'
import { refreshLists, settingsQuery } from '../api/queries.ts'
import { conversationPath } from '../routes.ts'
import { rememberCreation } from './creations.ts'
import { keepDraft } from './draft.ts'
import { newId } from './new-id.ts'
import { type Policy, policyOfSettings } from './policy.ts'

/** `policy` null: that of the settings. */
type Choices = Omit<NewConversation, 'policy'> & { readonly policy: Policy | null }

/** Creates a conversation and opens its page. The same choices after a failure have the same id, so that nothing is created twice. */
export function useCreation() {
  const [, navigate] = useLocation()
  const client = useQueryClient()
  const attempt = useRef<{ readonly id: string; readonly choices: string }>(null)
  return useMutation({
    mutationFn: async ({ policy, ...choice }: Choices) => {
      const wanted = { ...choice, policy: policy ?? policyOfSettings(await client.query(settingsQuery)) }
      const choices = JSON.stringify(wanted)
      // The server answers a known id with what it is, so other choices need another one.
      if (attempt.current?.choices !== choices) attempt.current = { id: newId(), choices }
      const { id } = attempt.current
      rememberCreation(id, wanted)
      await createConversation(id, wanted)
      return id
    },
    onSuccess: (created) => {
      attempt.current = null
      keepDraft('')
      refreshLists(client)
      navigate(conversationPath(created))
    },
  })
}
