import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { useLocation } from 'wouter'
import { createConversation, type NewConversation } from '../api/create.ts'
import { refreshLists } from '../api/queries.ts'
import { conversationPath } from '../routes.ts'
import { keepDraft } from './draft.ts'
import { newId } from './new-id.ts'

/** Creates a conversation and opens its page. A repetition after a failure has the same id, so that nothing is created twice. */
export function useCreation() {
  const [, navigate] = useLocation()
  const client = useQueryClient()
  const id = useRef<string>(null)
  return useMutation({
    mutationFn: async (wanted: NewConversation) => {
      id.current ??= newId()
      await createConversation(id.current, wanted)
      return id.current
    },
    onSuccess: (created) => {
      id.current = null
      keepDraft('')
      refreshLists(client)
      navigate(conversationPath(created))
    },
  })
}
