/** The first minute: the demo, a model, or an agent that is installed. Home shows it while there is neither a model nor a conversation. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { useMe } from '../api/me.ts'
import { refreshLists } from '../api/queries.ts'
import { server } from '../api/server.ts'
import { usePageTitle } from '../lib/page-title.ts'
import { conversationPath } from '../routes.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { KeyRound, Play } from '../ui/icons.ts'
import { Failure } from '../ui/listing.tsx'
import { welcome as words } from '../words/welcome.en.ts'
import { AgentsChoice } from './welcome-agents.tsx'
import { Choice } from './welcome-choice.tsx'
import './welcome.css'

export function WelcomePage() {
  usePageTitle(words.title)
  const canWrite = useMe().data?.role !== 'read-only'
  return (
    <div className="page welcome">
      <h1>{words.title}</h1>
      <p className="page-lead">{canWrite ? words.lead : words.readOnly}</p>
      {canWrite && (
        <div className="welcome-choices">
          <DemoChoice />
          <Choice icon={KeyRound} {...words.model}>
            <ButtonLink href="/settings/model">{words.model.action}</ButtonLink>
          </Choice>
          <AgentsChoice />
        </div>
      )}
    </div>
  )
}

function DemoChoice() {
  const demo = useDemo()
  return (
    <Choice
      icon={Play}
      {...words.demo}
      below={demo.isError && <Failure error={demo.error} onRetry={() => demo.mutate()} />}
    >
      <Button look="primary" disabled={demo.isPending} onClick={() => demo.mutate()}>
        {demo.isPending ? words.demo.starting : words.demo.action}
      </Button>
    </Choice>
  )
}

/** Starts the demo, or finds the one that has not ended, and opens its conversation. */
function useDemo() {
  const [, navigate] = useLocation()
  const client = useQueryClient()
  return useMutation({
    mutationFn: async () => (await server.call('POST', '/api/demo')) as { conversation_id: string },
    onSuccess: ({ conversation_id }) => {
      refreshLists(client)
      navigate(conversationPath(conversation_id))
    },
  })
}
