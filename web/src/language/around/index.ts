// The words of what is around conversations, which are loaded with the first part that needs them.
import { computed } from '@preact/signals';
import { other } from '..';
import { en, type AroundWords } from './en';

export const around = computed<AroundWords>(() => other.value?.around ?? en);
