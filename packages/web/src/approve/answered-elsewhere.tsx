/** The note about a decision that another page or person made. */
import { timeOf } from '../log/read.ts'
import type { Decision } from '../log/state.ts'
import { clockOf } from '../timeline/format.ts'
import { Button } from '../ui/button.tsx'
import { dock as dockWords } from '../words/dock.en.ts'
import { useActorName } from './use-actor-name.ts'

export function AnsweredElsewhere({ decision, dismiss }: { decision: Decision; dismiss: () => void }) {
  const name = useActorName(decision.actor)
  return (
    <div className="answered" role="status">
      <span>
        {dockWords.answeredElsewhere(decision.isAccepted)} {dockWords.answeredBy(name, clockOf(timeOf(decision.at)))}
        {decision.reason === null ? null : ` ${decision.reason}`}
      </span>
      <Button look="quiet" size="small" onClick={dismiss}>
        {dockWords.dismiss}
      </Button>
    </div>
  )
}
